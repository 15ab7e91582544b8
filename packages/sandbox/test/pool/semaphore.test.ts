import { describe, expect, it } from 'vitest'
import { Berths } from '../../src/pool/semaphore.ts'

const never = new AbortController().signal

describe('berths', () => {
  it('are taken at once while there are some, and then in line', async () => {
    const berths = new Berths(2)
    const [first] = [await berths.take(never), await berths.take(never)]
    const entered: number[] = []
    const waiting = [3, 4, 5].map((number) => berths.take(never).then((leave) => {
      entered.push(number)
      leave()
    }))
    expect([berths.taken, berths.waiting, entered]).toEqual([2, 3, []])
    first()
    await Promise.all(waiting)
    expect([berths.taken, berths.waiting, entered]).toEqual([1, 0, [3, 4, 5]])
  })

  it('go to the longest waiter, also when another arrives at the same moment', async () => {
    const berths = new Berths(1)
    const entered: string[] = []
    const leave = await berths.take(never)
    const early = berths.take(never).then((next) => {
      entered.push('early')
      next()
    })
    leave()
    const late = berths.take(never).then(() => entered.push('late'))
    await Promise.all([early, late])
    expect(entered).toEqual(['early', 'late'])
  })

  it('are given back once, however often it is said', async () => {
    const berths = new Berths(2)
    const leave = await berths.take(never)
    await berths.take(never)
    leave()
    leave()
    expect(berths.taken).toBe(1)
  })

  it('are not for those who have given up', async () => {
    const berths = new Berths(1)
    const leave = await berths.take(never)
    const patience = new AbortController()
    const impatient = berths.take(patience.signal)
    const patient = berths.take(never)
    const reason = new Error('enough')
    patience.abort(reason)
    await expect(impatient).rejects.toBe(reason)
    await expect(berths.take(patience.signal)).rejects.toBe(reason)
    expect(berths.waiting).toBe(1)
    leave()
    ;(await patient)()
    expect([berths.taken, berths.waiting]).toEqual([0, 0])
  })

  it('stay with a waiter that got one before giving up', async () => {
    const berths = new Berths(1)
    const patience = new AbortController()
    const leave = await berths.take(patience.signal)
    patience.abort()
    expect(berths.taken).toBe(1)
    leave()
    expect(berths.taken).toBe(0)
  })

  it('are never more than there are, in whatever order they are taken, given up and given back', async () => {
    const berths = new Berths(3)
    let seed = 7
    const random = (below: number): number => (seed = seed * 48_271 % 2_147_483_647) % below
    const held: (() => void)[] = []
    const waiting: AbortController[] = []
    const settled: Promise<void>[] = []
    for (let step = 0; step < 2_000; step++) {
      const act = random(3)
      if (act === 0) {
        const patience = new AbortController()
        waiting.push(patience)
        settled.push(berths.take(patience.signal).then((leave) => void held.push(leave), () => undefined))
      } else if (act === 1) held.splice(random(held.length || 1), 1)[0]?.()
      else waiting.splice(random(waiting.length || 1), 1)[0]?.abort(new Error('gave up'))
      await Promise.resolve()
      expect(berths.taken).toBeLessThanOrEqual(3)
      if (berths.waiting > 0) expect(berths.taken).toBe(3)
    }
    for (const patience of waiting) patience.abort(new Error('over'))
    await Promise.all(settled)
    for (const leave of held) leave()
    expect([berths.taken, berths.waiting]).toEqual([0, 0])
  })
})
