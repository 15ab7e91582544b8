/** For what is shown to those who may look and not change it. Contract: JSON, or what is made of it. */
export function freezeDeep<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const key in value) freezeDeep(value[key])
  return Object.freeze(value)
}
