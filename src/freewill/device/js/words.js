export default {
  "language": "en",
  "nouns": {
    "categorical": {"one": "answer", "many": "answers", "up": "Answers"},
    "linear": {"one": "value", "many": "values", "up": "Values"},
    "grid": {"one": "place", "many": "places", "up": "Places"}
  },
  "numbers": {
    "group": ",",
    "point": ".",
    "power": "{digits} x 10^{exponent}",
    "percent": "{number} %",
    "least_percent": "less than {number} %",
    "most_percent": "more than {number} %"
  },
  "warnings": {
    "nothing": "Careful: this hides nothing.",
    "truth": "Careful: this hides next to nothing. Of all reports, {chance} tell the true {value}.",
    "weak": "Careful: this promise is weak. It lets a report tell two {values} apart almost for sure.",
    "weak_typical": "Careful: this promise is weak. Two {values} picked blindly are {distance} apart on average, and at that distance it lets a report tell them apart almost for sure."
  },
  "menu": {
    "seen": "The collector sees which protection you choose. If you choose by your {value}, the choice tells something of it, too."
  },
  "family": {
    "choice": "You choose epsilon yourself, from {low} to {high}, and your report says which: the smaller it is, the less your report tells. Your own epsilon is what counts.",
    "largest": "What follows is said of {high}, the largest."
  },
  "truth": {
    "always": "Your report is your true {value}, always.",
    "chance": "The chance that your report is your true {value} is {chance}.",
    "range": "The chance that your report is your true {value} is between {low} and {high}, depending on the {value}.",
    "never": "Your report is never your true {value}.",
    "bits": "Your report says yes or no to every {value}. It says yes to your own with a chance of {own}, and to each of the others with a chance of {other}.",
    "bits_alone": "The chance that it says yes to your own and to no other is {chance}.",
    "subset": "Your report names {many} of {size} {values}. Your own is among them with a chance of {own}, and each of the others with a chance of {other}.",
    "hash": "A random number sorts all {values} into {many} groups. Your report is that number and one group: the group of your own {value} with a chance of {own}.",
    "bloom": "A fingerprint of your {value} marks a few of {many} places, and other {values} mark some of the same. Your report says yes or no to every place: yes to one of your own with a chance of {own}, and to any other with a chance of {other}.",
    "hadamard": "Your report is one of {many} signs, half of which stand for your own {value}. It is one of that half with a chance of {own}. Every other {value} shares half of those signs.",
    "blocks": "Your report is one of {many} signs. It is one of those that stand for your own {value} with a chance of {own}, and one of those that stand for another with a chance of {other} on average.",
    "unsaid": "You do not answer: your report says nothing, whatever your {value} is.",
    "other": "Your report is one of {outputs} signs, which need not be {values} themselves.",
    "silence": "With a chance of {chance}, whatever your {value} is, you report nothing. All else here is about the reports that are sent.",
    "several": "Your report has {many} parts, each drawn for itself from the same {value}. Together they tell more than any of them.",
    "cell": "Your report never tells more than a cell of the map, {width} x {height} km."
  },
  "error": {
    "typical": "Whoever takes your report for the truth is off by {mean} on average and, at least 1 time in 20, by {far} or more (if all {values} are equally common).",
    "seldom": "Whoever takes your report for the truth is right more than 19 times in 20 (if all {values} are equally common)."
  },
  "odds": {
    "nothing": "Your report tells nothing at all about your {value}.",
    "any": "Say two {values} seemed equally likely before your report. After it, one of them can seem {odds}.",
    "near": "{values_up} up to {distance} apart stay hard to tell apart: if two of them seemed equally likely before your report, one can seem at most twice as likely as the other after it.",
    "apart": "Even the nearest two {values}, {distance} apart, can be told apart: if they seemed equally likely before your report, one of them can seem {odds} after it.",
    "far": "The further apart two {values} are, the more your report tells: at {distance}, one of them can seem {odds}.",
    "lifetime": "If you are asked again and again, your device keeps one noisy answer and makes every report from it. After all of them together, however many, one of two {values} can seem {odds}.",
    "infinite": "There is no limit to what a report may give away: it can rule other {values} out for sure.",
    "less": "less than {percent} likelier than the other",
    "percent": "at most {percent} likelier than the other",
    "times": "at most {times} times as likely as the other",
    "million": "more than a million times as likely as the other"
  },
  "together": {
    "sum": "Epsilon {sum} in all: {parts}.",
    "part": "{name} {epsilon}",
    "unlimited": "without limit",
    "any": "Of two equally likely people who differ in all these answers, one can then seem {odds}.",
    "weak": "Careful: together these promises are weak. They let whoever sees all your reports tell two people apart almost for sure.",
    "nothing": "Together your reports tell nothing at all.",
    "infinite": "There is no limit to what your reports may give away together."
  },
  "cover": {
    "any": "Which protection is used is drawn, too: with a chance of {chance} it is another one of the list, stronger or weaker, so that your choice is not told for sure. What follows is about this one.",
    "protection": "Which protection is used is drawn, too: with a chance of {chance} it is another one of the list, never a weaker one. What follows is about this one.",
    "shared": "Where this one is used, another may have been chosen, so that your choice is not told for sure.",
    "partly": "Where this one is used, it is seen that you chose it or one that promises no more, and not which.",
    "told": "Where this one is used, it is seen that you chose it.",
    "weak": "Careful: what may be used in place of this one is weak."
  },
  "loss": {
    "distance": "Whoever sees your report, and guesses as well as anybody can, is off by {loss} on average.",
    "wrong": "Whoever sees your report, and guesses as well as anybody can, is wrong {chance} of the time.",
    "own": "Whoever sees your report, and guesses as well as anybody can, loses {loss} on average, by this survey's own measure.",
    "average": "That is an average over people, if {values} are as common as this survey takes them to be. A single report may give more away."
  },
  "picture": {
    "symbols": "If your true {value} is {own}, the chance of each report:",
    "symbols_bits": "If your true {value} is {own}, the chance of a yes to each {value}:",
    "map": "If your true place is the marked cell, the chance of each report (the darker, the likelier):",
    "map_bits": "If your true place is the marked cell, the chance of a yes to each cell (the darker, the likelier):",
    "symbols_sets": "If your true {value} is {own}, the chance that your report stands for each {value}:",
    "map_sets": "If your true place is the marked cell, the chance that your report stands for each cell (the darker, the likelier):",
    "middle": "in the middle of the map",
    "most": "The highest is {chance}.",
    "edge": "The edge also takes whatever would fall beyond it.",
    "bins": "Each bar stands for {many} neighbouring {values}.",
    "blocks": "Each square stands for {columns} x {rows} cells.",
    "rest": "{many} others together",
    "rest_bits": "each of {many} others",
    "rest_mean": "{many} others, on average"
  }
}
