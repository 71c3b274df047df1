/**
 * @file What the page says, in one place. Gaps in braces are filled by `filled` of freewill.js.
 */

/** For a person's own value: programs that translate pages send their texts elsewhere. */
export const OWN = Object.freeze({ translate: "no" });

export default {
  steps: ["Answer", "Protection", "Report", "Receipt"],
  value: {
    categorical: "Choose your answer",
    linear: "Choose your value",
    grid: "Choose the place",
    stays:
      "Your answer stays in this browser. It is not sent and not kept: only a noisy report, drawn from it by " +
      "chance, is sent in the end, and only once you have seen it.",
    nothing: "Nothing is chosen for you.",
    missing: "Nothing is chosen yet. Choose your answer first.",
    search: "Search the {many} answers",
    matches: "{many} answers match.",
    one: "One answer matches.",
    none: "No answer matches. Try fewer letters.",
    some: "{many} answers match; the first {shown} are here. Type more to see others.",
    chosen: "Chosen: ",
    slider: "Slide to your value",
    number: "Or type it",
    unset: "Not chosen yet",
    north: "North",
    south: "South",
    outside: "{given} is none of the values: expected a whole number from {first} to {last}{steps}.",
    stepped: " in steps of {step}",
    map:
      "Press the map where it is. With the keyboard: arrow keys move the mark, Enter chooses its cell; Home " +
      "and End go to the ends of a row, Page Up and Page Down ten cells up and down, + and - look closer and further away.",
    mapName: "Map of {columns} by {rows} cells, north is up",
    numbers: "Or type where it is",
    axes: { lat: "Latitude", lon: "Longitude", east_km: "Kilometres east", north_km: "Kilometres north" },
    degrees: "from {low} to {high} degrees",
    kilometres: "from {low} to {high} km",
    away: "That point is not on the map.",
    leftOut: "That cell is left out of this survey: nobody is asked about it. Choose another.",
    zoom: { group: "How much of the map is shown", closer: "Closer", further: "Further away" },
    where: {
      area: "It is in {area}.",
      at: "It is at {place}.",
      areaAt: "It is in {area}, at {place}.",
      place: "It is about {distance} {direction} of {place}.",
      both: "It is in {area}, about {distance} {direction} of {place}.",
      // From the east, against the clock.
      directions: ["east", "north-east", "north", "north-west", "west", "south-west", "south", "south-east"],
    },
    cell: "Chosen: the cell around {point} (column {column} of {columns} from the west, row {row} of {rows} from the south).",
    mark: "The mark is on the cell around {point}. Press Enter to choose it.",
    moves: { ArrowUp: "North", ArrowLeft: "West", ArrowRight: "East", ArrowDown: "South" },
    mover: "Move the chosen cell by one",
    next: "Next: choose a protection",
  },
  protection: {
    heading: "How shall it be protected?",
    legend: "Choose a protection. Nothing is chosen for you.",
    yours: "Your answer: ",
    more: "What else it means",
    missing: "No protection is chosen yet. Choose one first.",
    undrawable: "This survey also offers ",
    others: ", but no browser can draw such a report: it cannot be chosen here. Nothing is wrong with the others.",
    once:
      "The report is drawn once, by chance, here in your browser. You see it before it is sent. It will not be " +
      "drawn again: whoever had two could guess your answer better.",
    draw: "Draw my noisy report",
    drawing: "Drawing.",
    back: "Back",
  },
  several: {
    place: "{number} of {many}. {words}",
    next: "Next question",
    ready: "Look at all of it",
    check: "Before your reports are drawn",
    unanswered: "Not answered",
    again: "Change",
    silent: "Do not answer this question",
    same: "Protect the questions that follow in the same way, where it is on offer",
    kept: "Protection: {name}, as you chose for the questions that follow. ",
    change: "Change it for this one",
    protected: "Protection: {name}",
    fresh: "They were drawn just now, one for each question. Nothing has been sent yet.",
    before:
      "They were drawn before, in this browser. Whatever you choose now, they stay: a second draw would tell more " +
      "about you. Only these can be sent.",
    perhaps:
      "Your reports were drawn in this browser, and no receipt for them came back: perhaps they were not received. " +
      "Send them now. If they were received, they still count once.",
    due: "Your reports were drawn in this browser. You asked to send them, and they are sent by themselves.",
    earlier: "You have answered these questions",
    spent: "Nothing is spent yet. What your reports may tell adds up, and is shown here.",
    label: "What your reports may tell together",
  },
  limit: {
    set: "Set a limit to what your reports may tell",
    label: "The most that all reports from this browser to this collector may cost (epsilon)",
    about:
      "What reports tell adds up, over all surveys here. A report that would lead beyond your limit is not drawn. " +
      "The limit stays in this browser.",
    earlier: "Earlier reports from this browser have cost epsilon {earlier} here. With what you chose, it is {sum}.",
    beyond:
      "With this, your reports would cost epsilon {sum}, and your limit is {limit}: nothing will be drawn. Choose a " +
      "protection that tells less, leave it, or change your limit.",
  },
  strength: {
    slider: "Slide to how much your report may tell",
    least: "{epsilon}: tells least",
    most: "{epsilon}: tells most",
    chosen: "Epsilon {epsilon}",
    missing: "How strong shall it be? Slide to the epsilon of your choice first.",
    used: "It was drawn with epsilon {epsilon}, which is sent with it.",
    named: "{name}, epsilon {epsilon}",
  },
  report: {
    heading: "This is what will be sent",
    fresh: "It was drawn just now, under the protection {name}. Nothing has been sent yet.",
    before:
      "It was drawn before, in this browser, under the protection {name}. Whatever you choose now, it stays: a " +
      "second draw would tell more about you. Only this one can be sent.",
    perhaps:
      "Your report for this question was drawn in this browser, and no receipt for it came back: perhaps it was " +
      "not received. Send it now. If it was received, it still counts once.",
    due: "Your report was drawn in this browser. You asked to send it, and it is sent by itself.",
    covered: "Which protection is used was drawn, too: it need not be the one that you chose.",
    says: "Your report says:",
    unsaid: "nothing: you chose not to answer.",
    silent: "nothing: by chance, and whatever your answer is.",
    sign: "sign {value}, one of {outputs}",
    yes: "yes to {many} of {size} {values}:",
    none: "no to all {size} {values}.",
    one: "one of these {many} of {size} {values}:",
    nothing: "none of the {size} {values}.",
    hash: "That is group {group}, by the number {seed}, which was drawn by chance.",
    hadamard: "That is what sign {value}, one of {all}, stands for.",
    others: "and {many} more",
    hidden:
      "Your true answer is not in it. The report was drawn by chance: it may happen to be the same or not, and " +
      "whoever reads it cannot be sure.",
    bits:
      "Your true answer is not in it. Every yes and no was drawn by chance: the one to your own may be either, and " +
      "whoever reads it cannot be sure.",
    stands:
      "Your true answer is not in it. The report was drawn by chance: it may stand for your own or not, and whoever " +
      "reads it cannot be sure.",
    telling:
      "Your true answer is not in it, but under this protection a report can give away for sure what the answer " +
      "is not, or what it is.",
    open: "This choice hides nothing: the report is your true answer.",
    final: "It will not be drawn again, even if you do not send it: nobody can draw until a report pleases.",
    exact: "The whole message, letter by letter:",
    to: "It goes to {address}",
    seen:
      "The network sees that you send something, and from where, as with every page. The collector's program keeps " +
      "no address and no time but the day.",
    within:
      "It will be sent within {time} after you press Send, at a moment that is drawn by chance: that does not tell " +
      "when you answered. You may close the page; then it is sent when you open it again.",
    send: "Send",
    again: "Try again",
    sending: "Sending.",
    waiting: "{why} Trying again in {seconds} s (try {number} of {most}). Your report is kept.",
  },
  failures: {
    offline: "No answer from the collector.",
    busy: "The collector is busy.",
    odd: "That was no answer of a collector. Is there a page to log in to this network?",
    unkept: "The report could not be written to the disk of this device, and was not sent.",
    kept: "Your report is kept in this browser. Send the same one later: open this page again.",
    410: "The survey is closed: it takes no more reports.",
    413: "The collector says that the report is too long.",
    422: "The collector cannot read this report.",
    507: "The collector has no room left, and stored nothing.",
    other: "The collector refused the report (status {status}).",
  },
  receipt: {
    heading: "Received. Thank you.",
    earlier: "You have answered this question",
    stored: "The collector stored your report. It counts once.",
    known: "The collector had this number already. What came with it first counts, once.",
    once:
      "This browser will not draw another report for this question: if you answer again, the same one is sent. " +
      "Somebody else who uses this browser needs another browser, or a profile of their own.",
    own:
      "Keep the receipt to yourself: it has your report, and a number by which anybody could ask whether a report " +
      "was sent.",
    id: "Report number",
    survey: "Survey",
    log: "Log of surveys",
    head: "{number}: {head}. Whoever sees the same here was shown the same surveys, with the same protections.",
    protection: "Protection",
    sent: "What was sent",
    answer: "The collector's answer",
    copy: "Copy the receipt",
    copied: "Copied.",
    uncopied: "This browser does not let the page copy. Save the receipt instead.",
    save: "Save the receipt",
    again: "Send the same report again",
  },
  closed: {
    heading: "This survey is closed",
    text: "It takes no more answers since {day}. Nothing was drawn and nothing was sent.",
    drawn: "The survey is closed since {day}. If your report arrived in time, the collector will say so.",
  },
  unable: {
    heading: "This page cannot protect your answer here",
    nothing: "Nothing was drawn and nothing was sent.",
    random: "Your browser has no generator of random numbers that is safe (crypto.getRandomValues). Update it.",
    store:
      "Your browser does not let this page keep anything ({why}). Without that it could not remember your report, " +
      "and would draw another one the next time. Allow this page to keep data (it sets no cookie), or open it " +
      "in a window that is not private.",
    locks:
      "This page was not opened over https, so that the browser offers no locks (navigator.locks): two tabs could " +
      "send two reports. Open it by an address that begins with https://, or tell whoever sent you here.",
    old: "Your browser is too old for this page ({why}). Try a current Firefox, Chrome, Edge or Safari.",
  },
  errors: {
    heading: "This did not work",
    unreachable: "The collector does not answer. Look at your connection, and load the page again.",
    reload: "Load the page again",
    unreadable: "This page cannot read the survey.",
    log: "It cannot be told whether everyone was shown the same survey. Nothing was drawn and nothing was sent.",
    other:
      "This question was answered in this browser before, under a protection that is not on offer here. The collector " +
      "could not read that report, and a second one would tell more about you.",
    device: "Your browser's memory of earlier reports stands in the way.",
  },
};
