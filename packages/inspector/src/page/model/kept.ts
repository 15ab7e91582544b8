import { signal, type Signal } from '@preact/signals'

/** A signal whose value this browser keeps. What cannot be kept, because storage is off, lasts as long as the page. */
export function kept<Value>(name: string, initial: Value, isValid: (value: unknown) => value is Value): Signal<Value> {
  const key = `bulkhead.${name}`
  const read = (): Value => {
    try {
      const value: unknown = JSON.parse(localStorage.getItem(key) ?? 'null')
      return isValid(value) ? value : initial
    } catch {
      return initial
    }
  }
  const own = signal(read())
  own.subscribe((value) => {
    try {
      if (value === initial) localStorage.removeItem(key)
      else localStorage.setItem(key, JSON.stringify(value))
    } catch { /* Storage is off or full. */ }
  })
  return own
}
