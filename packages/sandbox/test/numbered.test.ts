import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Numbered } from '../src/wire/numbered.ts'

it('behaves as a Map of numbers, also where many of them would have one place', () => {
  const number = fc.oneof(fc.nat(8), fc.nat(8).map((n) => n * 256), fc.nat(8).map((n) => n * 256 + 1), fc.maxSafeNat())
  fc.assert(fc.property(fc.array(fc.tuple(fc.boolean(), number), { maxLength: 80 }), (acts) => {
    const [numbered, map] = [new Numbered<string>(), new Map<number, string>()]
    for (const [adds, n] of acts) {
      expect(numbered.has(n)).toBe(map.has(n))
      if (adds && !map.has(n)) {
        numbered.add(n, `value ${n}`)
        map.set(n, `value ${n}`)
      } else {
        expect(numbered.take(n)).toBe(map.get(n))
        map.delete(n)
      }
      expect(numbered.size).toBe(map.size)
    }
    expect(numbered.takeAll()).toEqual([...map].toSorted(([a], [b]) => a - b).map(([, value]) => value))
    expect(numbered.size).toBe(0)
  }))
})
