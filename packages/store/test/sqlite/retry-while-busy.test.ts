import { describe, expect, it } from 'vitest'
import { LockWait } from '../../src/sqlite/database-file.ts'
import { retryWhileBusy } from '../../src/sqlite/sqlite-error.ts'

const busy = () => Object.assign(new Error('database is locked'), { errcode: 5 })

describe('retryWhileBusy', () => {
  it('retries while the file is locked, also for extended codes', async () => {
    let attempts = 0
    const held = [busy(), Object.assign(busy(), { errcode: 517 }), Object.assign(busy(), { errcode: 6 })]
    expect(await retryWhileBusy(() => {
      const error = held[attempts++]
      if (error) throw error
      return 'mine'
    })).toBe('mine')
    expect(attempts).toBe(4)
  })

  it('fails after the timeout', async () => {
    const error = busy()
    await expect(retryWhileBusy(() => { throw error }, new LockWait(30))).rejects.toBe(error)
  })

  it('does not retry other errors', async () => {
    let attempts = 0
    await expect(retryWhileBusy(() => { attempts++; throw new Error('disk') })).rejects.toThrow('disk')
    expect(attempts).toBe(1)
  })
})
