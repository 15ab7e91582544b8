/** Such as 5 s, 12 min or 3 h. */
export function ageOf(since: unknown, now: number): string {
  if (typeof since !== 'number' || since === 0) return '-'
  const seconds = Math.max(0, Math.floor((now - since) / 1_000))
  if (seconds < 120) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 120) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`
}
