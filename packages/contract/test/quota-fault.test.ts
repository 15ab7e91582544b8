import { constants } from 'node:os'
import { getSystemErrorName } from 'node:util'
import { describe, expect, it } from 'vitest'
import { messageOf } from '../src/bulkhead-error.ts'
import { isQuotaFault } from '../src/quota-fault.ts'

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
