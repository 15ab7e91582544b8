import { createHash } from 'node:crypto'
import { manifestSchema } from '@bulkhead/contract/validation'
import { describe, expect, test } from 'vitest'
import { bundledDigest, byteOrder, capabilityDigest, packageDigest, toolDigests } from '../../src/model/digest.ts'
import { manifestOf, toolOf } from '../home-fixture.ts'

const sha512 = (text: string) => createHash('sha512').update(text).digest('hex')
const parse = (over: Record<string, unknown> = {}) => manifestSchema.parse(manifestOf(over))

describe('the digest of a package', () => {
  test('covers sorted lines of path, NUL and digest', () => {
    expect(packageDigest(new Map([['b', sha512('2')], ['a', sha512('1')]]))).toBe(
      sha512(`a\0${sha512('1')}\nb\0${sha512('2')}\n`),
    )
    expect(packageDigest(new Map())).toBe(sha512(''))
  })

  test('sorts by UTF-8 bytes', () => {
    const beyond = '\u{1f600}'
    const inside = '\u{ffe5}'
    expect([beyond, inside].toSorted()).toEqual([beyond, inside])
    expect([beyond, inside].toSorted(byteOrder)).toEqual([inside, beyond])
    expect(packageDigest(new Map([[beyond, 'x'], [inside, 'y']]))).toBe(sha512(`${inside}\0y\n${beyond}\0x\n`))
  })

  test('of a bundled extension depends on its manifest and the version of the host', () => {
    const digests = [
      bundledDigest(parse(), '1.0.0'), bundledDigest(parse(), '1.0.1'),
      bundledDigest(parse({ version: '1.4.1' }), '1.0.0'),
    ]
    expect(new Set(digests).size).toBe(3)
    expect(bundledDigest(parse(), '1.0.0')).toBe(digests[0])
  })
})

describe('the digest of capabilities', () => {
  const base = capabilityDigest(parse({
    tools: [toolOf({ requires: { net: { hosts: ['a.example'] } } })], env: ['A', 'B'],
  }))

  test('covers requirements and variables', () => {
    for (const changed of [
      { tools: [toolOf({ requires: { net: { hosts: ['b.example'] } } })], env: ['A', 'B'] },
      { tools: [toolOf({ requires: { net: { hosts: ['a.example'] }, shell: [{ cmd: 'git' }] } })], env: ['A', 'B'] },
      { tools: [toolOf({ requires: { net: { hosts: ['a.example'] } } })], env: ['A'] },
      { tools: [toolOf({ requires: { net: { hosts: ['a.example'] } } }), toolOf({ name: 'more' })], env: ['A', 'B'] },
      {
        tools: [toolOf({ requires: { net: { hosts: ['a.example'] } } })], env: ['A', 'B'],
        secrets: [{ name: 'TOKEN', hosts: ['a.example'] }],
      },
      {
        tools: [toolOf({ requires: { net: { hosts: ['a.example'] } } })], env: ['A', 'B'],
        stateSlot: { slotVersion: '1', schema: { type: 'object' } },
      },
    ]) expect(capabilityDigest(parse(changed))).not.toBe(base)
  })

  test('covers nothing else', () => {
    const changed = {
      version: '7.0.0', tools: [toolOf({ description: 'Other.', requires: { net: { hosts: ['a.example'] } } })],
      env: ['B', 'A'],
    }
    expect(capabilityDigest(parse(changed))).toBe(base)
  })
})

test('the digest of a tool covers its whole definition', () => {
  const digestOf = (over: Record<string, unknown>) => toolDigests(parse({ tools: [toolOf(over)] })).get('forecast')
  const base = digestOf({})
  expect(base).toMatch(/^[0-9a-f]{128}$/)
  for (const over of [
    { description: 'x' }, { inputSchema: { type: 'object' } }, { gated: false }, { approvalKey: '{city}' },
    { idempotent: true },
    { requires: { fs: { read: ['a'] } } },
  ]) expect(digestOf(over)).not.toBe(base)
  expect(digestOf({ gated: true, requires: {} })).toBe(base)
})
