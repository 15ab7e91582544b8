import type { LockEntry } from '@bulkhead/contract'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { capabilityDigest } from '../../src/model/digest.ts'
import { formatLock, parseLock } from '../../src/lock/lock-file.ts'

const hex = (digit: string) => digit.repeat(128)
const tools = [{ name: 'b_tool', requires: { net: { hosts: ['b.example'] } } }, { name: 'a_tool', requires: {} }]
const entry = (over: Partial<LockEntry> = {}): LockEntry => ({
  version: '1.4.0', root: hex('a'), source: 'in-place', signer: null, signedBy: null,
  capability: capabilityDigest({ env: ['TOKEN'], secrets: [], tools }),
  capabilities: {
    env: ['TOKEN'], secrets: [], tools: Object.fromEntries(tools.map(({ name, requires }) => [name, requires])),
  },
  tools: { b_tool: hex('b'), a_tool: hex('c') }, accepted: { at: '2026-11-15T04:00:00.000Z', by: 'ann' }, ...over,
})
const lock = new Map([['weather', entry()], ['constructor', entry()], ['storms', entry()]])
const text = formatLock(lock)

describe('a lock file', () => {
  test('round-trips', () => {
    expect(parseLock(Buffer.from(text))).toEqual({ ok: true, lock: new Map([...lock].toSorted()) })
  })

  test('has a fixed order, and one value changes one line', () => {
    expect(formatLock(new Map([...lock].toReversed()))).toBe(text)
    expect(Object.keys((JSON.parse(text) as { extensions: object }).extensions)).toEqual([
      'constructor', 'storms', 'weather',
    ])
    const changed = formatLock(new Map([...lock, ['storms', entry({ root: hex('d') })]])).split('\n')
    expect(changed.filter((line, at) => line !== text.split('\n')[at])).toHaveLength(1)
    expect(text.endsWith('}\n')).toBe(true)
  })

  test.each([
    ['a digest of other capabilities', { capability: hex('0') }, '/extensions/weather'],
    ['different lists of tools', { tools: { a_tool: hex('b') } }, '/extensions/weather'],
    ['an incomplete signature', { signedBy: 'bundle' as const }, '/extensions/weather'],
  ])('is refused with %s', (_, over, path) => {
    expect(parseLock(Buffer.from(formatLock(new Map([['weather', entry(over)]]))))).toMatchObject({ ok: false, path })
  })
})

describe('an untrusted lock file', () => {
  test('with any bytes is parsed or refused with a message', () => {
    const mutation = fc.tuple(
      fc.nat(text.length), fc.nat(40),
      fc.oneof(
        fc.uint8Array({ maxLength: 8 }),
        fc.constantFrom('"__proto__":{},', '{', '[', '1e999', '\u{feff}', 'null').map((part) => Buffer.from(part)),
      ),
    )
    fc.assert(fc.property(fc.array(mutation, { minLength: 1, maxLength: 4 }), (mutations) => {
      const bytes = mutations.reduce<Uint8Array>(
        (now, [at, length, insert]) => Buffer.concat([now.subarray(0, at), insert, now.subarray(at + length)]),
        Buffer.from(text),
      )
      const parsed = parseLock(bytes)
      if (!parsed.ok) expect(parsed.message).not.toBe('')
    }), { numRuns: thoroughly(200, 1_000) })
    const anyBytes = fc.oneof(fc.uint8Array({ maxLength: 300 }), fc.json().map((json) => Buffer.from(json)))
    fc.assert(fc.property(anyBytes, (bytes) => {
      expect(parseLock(bytes).ok).toBe(false)
    }), { numRuns: thoroughly(100, 500) })
  })

  test('that is very deep or very large is refused quickly', () => {
    const deep = `{"extensions":${'{"a":'.repeat(50_000)}`
    for (const hostile of ['['.repeat(100_000), deep, `[${'1,'.repeat(300_000)}1]`]) {
      expect(parseLock(Buffer.from(hostile)).ok).toBe(false)
    }
  })
})
