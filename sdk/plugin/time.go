package plugin

// This file holds the printing of times, so that a guest needn't link package time.

// Time prints microseconds since the epoch as a message's created_at does: 2026-11-30T15:04:05.000000Z.
func Time(micros int64) string {
	if micros < 0 {
		micros = 0
	}
	rest := micros % 86_400_000_000
	year, month, day := civil(micros / 86_400_000_000)
	b := make([]byte, 0, 27)
	b = append(appendDigits(b, year, 4), '-')
	b = append(appendDigits(b, month, 2), '-')
	b = append(appendDigits(b, day, 2), 'T')
	b = append(appendDigits(b, rest/3_600_000_000, 2), ':')
	b = append(appendDigits(b, rest/60_000_000%60, 2), ':')
	b = append(appendDigits(b, rest/1_000_000%60, 2), '.')
	return string(append(appendDigits(b, rest%1_000_000, 6), 'Z'))
}

func appendDigits(b []byte, n int64, width int) []byte {
	b = append(b, "000000"[:width]...)
	for i := len(b) - 1; width > 0; i, width = i-1, width-1 {
		b[i] = byte('0' + n%10)
		n /= 10
	}
	return b
}

// civil turns days since 1970-01-01 into a date of the Gregorian calendar, counting in eras of 400 years from March on.
func civil(days int64) (year, month, day int64) {
	days += 719_468
	era := days / 146_097
	doe := days % 146_097
	yoe := (doe - doe/1460 + doe/36_524 - doe/146_096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	day = doy - (153*mp+2)/5 + 1
	month = mp + 3
	if mp >= 10 {
		month = mp - 9
	}
	year = yoe + era*400
	if month <= 2 {
		year++
	}
	return year, month, day
}

// ParseTime reads a time of RFC 3339 ("2026-11-30T15:04:05Z", fractions and offsets as you like) as microseconds since the epoch.
func ParseTime(text string) (micros int64, ok bool) {
	if len(text) < len("2026-11-30T15:04:05Z") || text[4] != '-' || text[7] != '-' || text[10]|0x20 != 't' || text[13] != ':' || text[16] != ':' {
		return 0, false
	}
	var n [6]int64
	for i, at := range [...][2]int{{0, 4}, {5, 7}, {8, 10}, {11, 13}, {14, 16}, {17, 19}} {
		if n[i], ok = digits(text[at[0]:at[1]]); !ok {
			return 0, false
		}
	}
	if n[1] < 1 || n[1] > 12 || n[2] < 1 || n[2] > monthDays(n[0], n[1]) || n[3] > 23 || n[4] > 59 || n[5] > 59 {
		return 0, false
	}
	micros = days(n[0], n[1], n[2])*86_400_000_000 + n[3]*3_600_000_000 + n[4]*60_000_000 + n[5]*1_000_000
	fraction, rest, ok := parseFraction(text[19:])
	if !ok {
		return 0, false
	}
	offset, ok := parseZone(rest)
	micros += fraction - offset
	return micros, ok && micros >= 0
}

// parseFraction reads ".5"; what is below a microsecond is cut.
func parseFraction(text string) (micros int64, rest string, ok bool) {
	if text[0] != '.' {
		return 0, text, true
	}
	i := 1
	for unit := int64(100_000); i < len(text) && '0' <= text[i] && text[i] <= '9'; i, unit = i+1, unit/10 {
		micros += int64(text[i]-'0') * unit
	}
	return micros, text[i:], i > 1
}

func parseZone(text string) (micros int64, ok bool) {
	if text == "Z" || text == "z" {
		return 0, true
	}
	if len(text) != 6 || text[3] != ':' || text[0] != '+' && text[0] != '-' {
		return 0, false
	}
	h, okH := digits(text[1:3])
	m, okM := digits(text[4:6])
	micros = h*3_600_000_000 + m*60_000_000
	if text[0] == '-' {
		micros = -micros
	}
	return micros, okH && okM && h < 24 && m < 60
}

func digits(text string) (n int64, ok bool) {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
		n = n*10 + int64(text[i]-'0')
	}
	return n, true
}

// days is civil turned round.
func days(year, month, day int64) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	return year*365 + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 + day - 1 - 719_468
}

func monthDays(year, month int64) int64 {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}
