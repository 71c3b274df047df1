#!/usr/bin/env perl
# A client in another language, written from docs/devices.md alone: it draws k-RR, RAPPOR and geometric
# noise by whole numbers, and is held to the vectors of docs/own-apps.md.
#
#     perl examples/client.pl tests/device_vectors.json     # how many of them it reproduces
use strict;
use warnings;
use JSON::PP;
use Math::BigInt;

my @bytes;      # that are still to be read
my $used = 0;

sub byte { $used++; return shift(@bytes) // die "the bytes are used up\n" }
sub big { return Math::BigInt->new(@_) }
sub quotient { my ($n, $by) = @_; return scalar $n->copy->bdiv($by) }    # rounded down
sub bits { my $n = shift; return $n->is_zero ? 0 : length($n->to_bin) }
sub right { my ($n, $by) = @_; return $by < 0 ? $n->copy->blsft(-$by) : $by > bits($n) ? big(0) : $n->copy->brsft($by) }

# A dyadic number m / 2^s is [m, s]; a double is one.
sub from_double {
    my $number = shift;
    my ($sign, $exponent, $fraction) = unpack('B64', pack('d>', $number)) =~ /^(.)(.{11})(.{52})$/;
    my $e = oct("0b$exponent");
    my $m = big('0b' . ($e ? '1' : '0') . $fraction);
    return [$m, 1075 - ($e || 1)];
}
sub product { my ($one, $other) = @_; return [$one->[0]->copy->bmul($other->[0]), $one->[1] + $other->[1]] }

# coin(p): the digits of p in base 256, against bytes, until one differs. There may be more leading
# zeros than any shift could write down.
sub coin {
    my ($rest, $s) = ($_[0][0]->copy, $_[0][1]);
    return 1 if bits($rest) > $s;
    while (!$rest->is_zero) {    # else the digits of p are exhausted
        my $digit = 0;
        if ($s - bits($rest) >= 8) { $s -= 8 }
        else {
            $digit = right($rest->blsft(8), $s)->numify;
            $rest->bsub(big($digit)->blsft($s));
        }
        my $byte = byte();
        return $byte < $digit ? 1 : 0 if $byte != $digit;
    }
    return 0;
}

sub below {
    my $n = big(shift);
    return 0 if $n == 1;
    my $last = $n->copy->bdec;
    my ($length, $kept) = (int((bits($last) + 7) / 8), bits($last));
    while (1) {
        my $drawn = big('0x' . join '', map { sprintf '%02x', byte() } 1 .. $length);
        $drawn = $drawn->bmod(big(1)->blsft($kept));
        return $drawn->numify if $drawn < $n;
    }
}

# e^-x = total / 2^(W + k), for x = n / 2^q and P bits.
my %ln2;
sub ln2 {
    my $w = shift;
    return $ln2{$w} if $ln2{$w};
    my $sum = big(0);
    for my $pair ([18, 26], [-2, 4801], [8, 8749]) {
        my ($times, $m) = @$pair;
        my ($term, $part) = (quotient(big(1)->blsft($w + 32), $m), big(0));
        for (my $j = 1; !$term->is_zero; $j += 2) {
            $part->badd(quotient($term, $j));
            $term = quotient($term, $m * $m);
        }
        $sum->badd($part->bmul($times));
    }
    return $ln2{$w} = $sum->brsft(32);
}
sub exponential {
    my ($n, $q, $p) = (@{$_[0]}, $_[1]);
    my $i = bits($n) - $q; $i = 0 if $i < 0;
    my $w = $p + $i + 64;
    my $x = right($n->copy->blsft($w), $q);
    my $k = quotient($x, ln2($w));
    my $r = $x->copy->bsub($k->copy->bmul(ln2($w)))->brsft(32);
    my ($total, $term) = (big(1)->blsft($w), big(1)->blsft($w));
    for (my $i = 1; ; $i++) {
        $term = quotient($term->bmul($r)->brsft($w), $i);
        last if $term->is_zero;
        $i % 2 ? $total->bsub($term) : $total->badd($term);
    }
    $total = $total->bmul($total->copy)->brsft($w) for 1 .. 32;
    return ($total, $w, $k->numify);
}
# share(c, d) = c e^-x / (1 + d e^-x), kept to P bits, down or up.
sub share {
    my ($c, $d, $x, $p, $up) = @_;
    my ($total, $w, $k) = exponential($x, $p);
    my $below = big(1)->blsft($w)->badd(right($total->copy->bmul($d), $k));
    return kept(quotient($total->copy->bmul($c)->blsft($w), $below), $w + $k, $p, $up);
}
sub kept {
    my ($m, $s, $p, $up) = @_;
    my $e = bits($m) - $p;
    return [right($m, $e)->badd($up ? 2 : 0), $s - $e];
}

# P = 192 + 2 max(0, -floor(log2 lambda)).
sub log2 { my ($m, $s) = @{$_[0]}; return bits($m) - 1 - $s }
sub precision { my $l = log2($_[0]); return 192 + ($l < 0 ? -2 * $l : 0) }
sub scaled { my ($x, $by) = @_; return [$x->[0]->copy, $x->[1] - $by] }    # x 2^by

sub krr {
    my ($k, $epsilon, $value) = @_;
    my $x = from_double($epsilon);
    my $r = share($k, $k - 1, $x, precision($x) + bits(big($k)), 1);
    return coin($r) ? below($k) : $value;
}
sub rappor {
    my ($k, $epsilon, $value) = @_;
    my $x = scaled(from_double($epsilon), -1);
    my $f = share(1, 1, $x, precision($x), 1);
    my @report = map { my $flip = coin($f); ($_ == $value) ^ $flip ? 1 : 0 } 0 .. $k - 1;
    return unpack 'H*', pack 'b*', join '', @report;
}
sub geometric {
    my ($k, $epsilon, $step, $value) = @_;
    my $given = product(from_double($epsilon), from_double($step));
    my $p = precision($given);
    # epsilon' = epsilon (1 - 2^-64)
    my $lambda = product($given, [big(1)->blsft(64)->bdec, 64]);
    my $digits = $k > 2 ? bits(big($k - 2)) : 0;
    return $value unless coin(share(2, 1, $lambda, $p, 0));
    my $side = coin([big(1), 1]) ? 1 : -1;
    my $t = 0;
    my ($total, $w, $e) = exponential(scaled($lambda, $digits), $p);
    if ($digits > 0 && coin(kept($total, $w + $e, $p, 0))) { $t = 2**$digits }
    else { $t += 2**$_ * coin(share(1, 1, scaled($lambda, $_), $p, 0)) for 0 .. $digits - 1 }
    my $moved = $value + $side * (1 + $t);
    return $moved < 0 ? 0 : $moved > $k - 1 ? $k - 1 : $moved;
}

my $held = do { local (@ARGV, $/) = @ARGV; decode_json(<>) };
my ($right, $wrong, $unknown) = (0, 0, 0);
for my $case (@{$held->{cases}}) {
    my $survey = $held->{surveys}[$case->{survey}];
    my ($line, $mechanism) = ($survey->{alphabet}, $survey->{mechanisms}{$case->{name}});
    my $kind = $mechanism->{mechanism};
    if ($line->{kind} ne 'linear' || $kind !~ /^(k-rr|rappor|geometric)$/) { $unknown++; next }
    my ($step, $epsilon) = ($line->{step} // 1, $mechanism->{epsilon});
    my $k = ($line->{last} - $line->{first}) / $step + 1;
    ($used, @bytes) = (0, unpack 'C*', pack 'H*', $case->{bytes});
    my $report = eval {
        $kind eq 'k-rr' ? krr($k, $epsilon, $case->{index})
            : $kind eq 'rappor' ? rappor($k, $epsilon, $case->{index})
            : geometric($k, $epsilon, $step, $case->{index});
    };
    my $same = defined $report && $report eq $case->{report} && $used == $case->{used};
    $same ? $right++ : $wrong++;
    print "$case->{name} of $case->{index}: ", $report // $@, ", not $case->{report}\n" unless $same;
}
print "$right reproduced, $wrong wrong, $unknown of other kinds\n";
exit($wrong ? 1 : 0);
