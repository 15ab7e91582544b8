import { constants } from 'node:os'
import { getSystemErrorName } from 'node:util'
import { describe, expect, it } from 'vitest'
import { isQuotaFault, messageOf } from '../src/error-message.ts'

const errno = -constants.errno.EDQUOT
const fault = (code: string) => Object.assign(new Error(`${code}: ${code}, write`), { errno, code, syscall: 'write' })

describe('a quota that is used up', () => {
  it.each(['UNKNOWN', getSystemErrorName(errno)])('is known by its number, since Node calls it %s', (code) => {
    expect(isQuotaFault(fault(code))).toBe(true)
    expect(messageOf(fault(code))).toBe('EDQUOT: disk quota exceeded')
  })

  it.each([
    ['one with a name', fault('ENOSPC')], ['another without', Object.assign(new Error('x'), { errno: -9999, code: 'UNKNOWN' })],
    ['nothing', undefined], ['a text', 'UNKNOWN'],
  ])('is no other fault: %s', (_, thrown) => expect(isQuotaFault(thrown)).toBe(false))
})

describe('the text of what was thrown', () => {
  it.each<[string, unknown, string]>([
    ['an error', new Error('boom'), 'boom'],
    ['a text', 'boom', 'boom'],
    ['a number', 5, 'threw 5'],
    ['nothing', undefined, 'threw undefined'],
    ['an empty text', '', 'threw an error without a message'],
    ['what cannot be printed', Object.create(null), 'threw something that cannot be printed'],
  ])('for %s', (_, thrown, text) => {
    expect(messageOf(thrown)).toBe(text)
  })

  it('is cut, and well formed where it was cut inside a character', () => {
    const text = messageOf(new Error('x'.repeat(9_999) + '😀😀'))
    expect(text).toHaveLength(10_000)
    expect(text.isWellFormed()).toBe(true)
  })
})
