import { expect, it } from 'vitest'
import { placeholderFor } from '../../src/net/keys/placeholder.ts'

it.each([
  ['ghp_Zq81TnVb64KdMw0RyXc3HsLpQe7UjAf2GoEi', /^ghp_[A-Za-z0-9]{36}$/],
  ['sk-ant-api03-abcDEF123_xyz-ABC', /^sk-ant-api03-[A-Za-z0-9]{9}_[A-Za-z0-9]{3}-[A-Za-z0-9]{3}$/],
  ['acme_0123456789abcdef01234567', /^acme_[0-9a-f]{24}$/],
  ['3f2504e0-4f89-41d3-9a0c-0305e82c3301', /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/],
  ['0123456789', /^\d{10}$/],
  ['blue-horse-battery-staple', /^[a-z]{4}-[a-z]{5}-[a-z]{7}-[a-z]{6}$/],
])('has the shape of %s, and nothing else of it', (value, shape) => {
  const made = Array.from({ length: 20 }, () => placeholderFor('TOKEN', value))
  for (const one of made) expect(one).toMatch(shape)
  expect(new Set([value, ...made]).size).toBe(21)
})

it('keeps no word of a pass phrase', () => {
  expect(
    Array.from({ length: 5 }, () => placeholderFor('TOKEN', 'blue-horse-battery-staple')).filter((one) =>
      one.startsWith('blue-'),
    ),
  ).not.toHaveLength(5)
})

it.each([
  'short', 'a b c d e f g h', 'line\nbreak1234', '--------------', 'ghp_abc', 'é'.repeat(20), 'a'.repeat(5_000),
])('refuses %j', (value) => {
  expect(() => placeholderFor('TOKEN', value)).toThrow(expect.objectContaining({ code: 'CapabilityUnavailable' }))
})
