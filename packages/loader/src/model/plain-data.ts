/** Freezes plain data through and through. What has been proven cannot change afterwards. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const key in value) {
    const member = value[key]
    if (typeof member === 'object') deepFreeze(member)
  }
  return value
}

/** A member of a record by a stranger's name: `constructor` is a name like any other, and not what every object inherits. */
export function ownMember<T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined
}
