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
