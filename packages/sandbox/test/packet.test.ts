import { findJsonFault, JSON_LIMITS } from '@bulkhead/kit/json'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { thoroughly } from '../../../scripts/thoroughly.ts'
import { parsePacket } from '../src/session/packet.ts'

const LIMITS = { ...JSON_LIMITS, maxDepth: 8, maxNodes: 50 }

it('agrees with a check of every parsed value, whatever is escaped', () => {
  fc.assert(fc.property(fc.jsonValue({ maxDepth: 10, stringUnit: 'binary' }), fc.boolean(), (value, escaped) => {
    const text = JSON.stringify(value)
    const escape = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
    const written = escaped ? text.replaceAll(/[a-z_](?=[^"\\]*")/g, escape) : text
    let expected: unknown
    try {
      expected = JSON.parse(written)
    } catch {
      return
    }
    const fault = findJsonFault(expected, LIMITS)
    const parsed = parsePacket(written, LIMITS)
    expect(parsed.ok, written).toBe(fault === undefined)
    if (parsed.ok) expect(parsed.value).toEqual(expected)
  }), { numRuns: thoroughly(30, 5_000) })
})

it('counts values and depth outside strings only', () => {
  expect(parsePacket(JSON.stringify([',,,[[[{{{'.repeat(100), '\\', '"', '\\"[[[[[[[[[[']), LIMITS))
    .toMatchObject({ ok: true })
  expect(parsePacket(JSON.stringify(Array.from({ length: 49 }, () => 0)), LIMITS)).toMatchObject({ ok: true })
  expect(
    parsePacket(JSON.stringify(Array.from({ length: 50 }, () => 0)), LIMITS),
  ).toEqual({ ok: false, why: 'has too many values or too much nesting' })
})

it('treats an escaped quote as part of its string', () => {
  const deep = '['.repeat(9) + ']'.repeat(9)
  const outgrown = { ok: false, why: 'has too many values or too much nesting' }
  for (const text of ['"', '\\"', '\\\\"', 'x\\\\\\"y']) {
    expect(parsePacket(JSON.stringify([text + deep]), LIMITS)).toEqual({ ok: true, value: [text + deep] })
    expect(parsePacket(`[${JSON.stringify(text)},${deep},${JSON.stringify(text)}]`, LIMITS)).toEqual(outgrown)
  }
})

it('rejects a JSON bomb without parsing it', () => {
  const bomb = '['.repeat(8 * 1024 * 1024)
  const before = process.memoryUsage().heapUsed
  expect(parsePacket(bomb, JSON_LIMITS)).toMatchObject({ ok: false })
  expect(parsePacket(`[${'[0],'.repeat(2_000_000)}0]`, JSON_LIMITS)).toMatchObject({ ok: false })
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(32 * 1024 * 1024)
})

it('never throws', () => {
  const unit = fc.constantFrom('[', ']', '{', '}', '"', '\\', ',', ':', '1', 'u', '\ud800')
  fc.assert(fc.property(fc.string({ unit }), (text) => {
    expect(typeof parsePacket(text, LIMITS).ok).toBe('boolean')
  }))
})

it('rejects a number that JSON.parse turns into Infinity', () => {
  const great = [
    '1e309', '-1E309', '1.5e400', '1e+999', '0.1e999', `1${'0'.repeat(309)}`, `-${'9'.repeat(400)}`,
    `${'9'.repeat(400)}.5`,
  ]
  for (const number of great) {
    for (const text of [number, `[${number}]`, `{"a":${number}}`, `["e",${number},true]`, `[ ${number} ]`]) {
      expect(parsePacket(text, LIMITS), text).toMatchObject({ ok: false })
    }
  }
  const small = [
    '1e308', '1.7976931348623157E+308', '1e-999', `0.${'1'.repeat(400)}`, '9'.repeat(308), '0e999', '1e5', 'true',
    'false',
  ]
  for (const number of small) {
    expect(parsePacket(`[${number},{"e1e999":${number}}]`, LIMITS), number).toMatchObject({ ok: true })
  }
})
