/** A member of a record by a stranger's name: `constructor` is a name like any other, and not what every object inherits. */
export function ownMember<T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined
}
