import { describe, expect, it } from 'vitest'
import { Semaphore } from '../../src/pool/hull-pool.ts'

const never = new AbortController().signal

describe('the permits of a semaphore', () => {
  it('are granted at once while there are some, and then in order', async () => {
    const semaphore = new Semaphore(2)
    const [first] = [await semaphore.take(never), await semaphore.take(never)]
    const entered: number[] = []
    const waiting = [3, 4, 5].map((number) => semaphore.take(never).then((leave) => {
      entered.push(number)
      leave()
    }))
    expect([semaphore.taken, semaphore.waiting, entered]).toEqual([2, 3, []])
    first()
    await Promise.all(waiting)
    expect([semaphore.taken, semaphore.waiting, entered]).toEqual([1, 0, [3, 4, 5]])
  })

  it('go to the longest waiter, even if another one arrives in the same tick', async () => {
    const semaphore = new Semaphore(1)
    const entered: string[] = []
    const leave = await semaphore.take(never)
    const early = semaphore.take(never).then((next) => {
      entered.push('early')
      next()
    })
    leave()
    const late = semaphore.take(never).then(() => entered.push('late'))
    await Promise.all([early, late])
    expect(entered).toEqual(['early', 'late'])
  })

  it('are released once, however often release is called', async () => {
    const semaphore = new Semaphore(2)
    const leave = await semaphore.take(never)
    await semaphore.take(never)
    leave()
    leave()
    expect(semaphore.taken).toBe(1)
  })

  it('are not granted to a waiter that was cancelled', async () => {
    const semaphore = new Semaphore(1)
    const leave = await semaphore.take(never)
    const cancellation = new AbortController()
    const impatient = semaphore.take(cancellation.signal)
    const patient = semaphore.take(never)
    const reason = new Error('enough')
    cancellation.abort(reason)
    await expect(impatient).rejects.toBe(reason)
    await expect(semaphore.take(cancellation.signal)).rejects.toBe(reason)
    expect(semaphore.waiting).toBe(1)
    leave()
    ;(await patient)()
    expect([semaphore.taken, semaphore.waiting]).toEqual([0, 0])
  })

  it('stay with a waiter that got one before it was cancelled', async () => {
    const semaphore = new Semaphore(1)
    const cancellation = new AbortController()
    const leave = await semaphore.take(cancellation.signal)
    cancellation.abort()
    expect(semaphore.taken).toBe(1)
    leave()
    expect(semaphore.taken).toBe(0)
  })

  it('never exceed the limit, in any order of taking, cancelling and releasing', async () => {
    const semaphore = new Semaphore(3)
    let seed = 7
    const random = (below: number): number => (seed = seed * 48_271 % 2_147_483_647) % below
    const held: (() => void)[] = []
    const waiting: AbortController[] = []
    const settled: Promise<void>[] = []
    for (let step = 0; step < 2_000; step++) {
      const act = random(3)
      if (act === 0) {
        const cancellation = new AbortController()
        waiting.push(cancellation)
        settled.push(semaphore.take(cancellation.signal).then((leave) => void held.push(leave), () => undefined))
      } else if (act === 1) held.splice(random(held.length || 1), 1)[0]?.()
      else waiting.splice(random(waiting.length || 1), 1)[0]?.abort(new Error('gave up'))
      await Promise.resolve()
      expect(semaphore.taken).toBeLessThanOrEqual(3)
      if (semaphore.waiting > 0) expect(semaphore.taken).toBe(3)
    }
    for (const cancellation of waiting) cancellation.abort(new Error('over'))
    await Promise.all(settled)
    for (const leave of held) leave()
    expect([semaphore.taken, semaphore.waiting]).toEqual([0, 0])
  })
})
