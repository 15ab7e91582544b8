import fc from 'fast-check'

export type Mutation = { readonly at: number; readonly remove: number; readonly insert: Uint8Array }
/** Removes and inserts bytes at any place. */
export const mutation: fc.Arbitrary<Mutation> = fc.record({
  at: fc.nat(10_000), remove: fc.oneof(fc.constant(0), fc.constant(1), fc.nat(60)),
  insert: fc.oneof(
    fc.uint8Array({ maxLength: 6 }),
    fc.constantFrom(
      ...'{}[]":,0-'.split(''), 'null', 'true', '1e999', '"__proto__":{},', '"\\ud800"', '\\u0000', '\u{feff}',
      '{"$ref":"#"}',
      '"$async":true,', '"pattern":"(a+)+$",', '[[[[[[',
    )
      .map((part) => new TextEncoder().encode(part)),
  ),
})

export function mutate(source: string, mutations: readonly Mutation[]): Uint8Array {
  return mutations.reduce<Uint8Array>((bytes, { at, remove, insert }) => {
    const start = at % (bytes.length + 1)
    return Buffer.concat([bytes.subarray(0, start), insert, bytes.subarray(start + remove)])
  }, new TextEncoder().encode(source))
}

/** Replaces any member with any JSON value. */
export const replacement = fc.tuple(fc.nat(), fc.jsonValue({ maxDepth: 4 }))
export function replaceMember(value: unknown, pick: number, by: unknown): unknown {
  const places: [Record<string, unknown>, string][] = []
  const copy = structuredClone(value)
  const walk = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    for (const key of Object.keys(node)) {
      places.push([node as Record<string, unknown>, key])
      walk((node as Record<string, unknown>)[key])
    }
  }
  walk(copy)
  const [holder, key] = places[pick % places.length]!
  holder[key] = by
  return copy
}
