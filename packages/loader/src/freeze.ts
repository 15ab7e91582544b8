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
