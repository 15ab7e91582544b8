import { constants } from 'node:os'
import { getSystemErrorName } from 'node:util'
import { describe, expect, it } from 'vitest'
import { errorCode, isQuotaFault, messageOf } from '../src/error-message.ts'

const errno = -constants.errno.EDQUOT
const fault = (code: string) => Object.assign(new Error(`${code}: ${code}, write`), { errno, code, syscall: 'write' })

describe('an exceeded quota', () => {
  it.each(['UNKNOWN', getSystemErrorName(errno)])('is recognized by its number, because its code is %s', (code) => {
    expect(isQuotaFault(fault(code))).toBe(true)
    expect(messageOf(fault(code))).toBe('EDQUOT: disk quota exceeded')
  })

  it.each([
    ['a known code', fault('ENOSPC')],
    ['another number', Object.assign(new Error('x'), { errno: -9999, code: 'UNKNOWN' })],
    ['undefined', undefined], ['a string', 'UNKNOWN'],
  ])('is not %s', (_, thrown) => expect(isQuotaFault(thrown)).toBe(false))
})

it.each<[string, unknown, string | undefined]>([
  ['an error of the system', Object.assign(new Error('x'), { code: 'ENOENT' }), 'ENOENT'],
  ['an error without a code', new Error('x'), undefined],
  ['a number as the code', { code: 7 }, undefined],
  ['undefined', undefined, undefined],
  ['null', null, undefined],
  ['a string', 'ENOENT', undefined],
])('errorCode of %s', (_, thrown, code) => {
  expect(errorCode(thrown)).toBe(code)
})

describe('the message of a thrown value', () => {
  it.each<[string, unknown, string]>([
    ['an error', new Error('boom'), 'boom'],
    ['a string', 'boom', 'boom'],
    ['a number', 5, 'threw 5'],
    ['undefined', undefined, 'threw undefined'],
    ['an empty string', '', 'threw an error without a message'],
    ['a value that cannot be printed', Object.create(null), 'threw something that cannot be printed'],
  ])('is a string for %s', (_, thrown, text) => {
    expect(messageOf(thrown)).toBe(text)
  })

  it('is truncated and stays well formed', () => {
    const text = messageOf(new Error('x'.repeat(9_999) + '😀😀'))
    expect(text).toHaveLength(10_000)
    expect(text.isWellFormed()).toBe(true)
  })
})
