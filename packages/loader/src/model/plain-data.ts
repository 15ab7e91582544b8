/** Freezes plain data recursively. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const key in value) {
    const member = value[key]
    if (typeof member === 'object') deepFreeze(member)
  }
  return value
}

/** A member by an untrusted name: `constructor` must not find the inherited one. */
export function ownMember<T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined
}
