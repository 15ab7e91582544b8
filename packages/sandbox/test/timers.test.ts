import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { TIMERS } from '../src/worker/timers.ts'

const {
  setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate,
} = TIMERS as unknown as typeof import('node:timers')

describe('timers of a compartment', () => {
  it('work like those of Node', async () => {
    const fired: unknown[] = []
    await new Promise<void>((done) => setTimeout((...args: unknown[]) => {
      fired.push(...args)
      done()
    }, 1, 'late', 2))
    await new Promise<void>((done) => {
      const interval = setInterval(() => {
        fired.push('again')
        if (fired.length < 4) return
        clearInterval(interval)
        done()
      }, 1)
    })
    await new Promise<void>((done) => setImmediate((text: string) => {
      fired.push(text)
      done()
    }, 'at once'))
    expect(fired).toEqual(['late', 2, 'again', 'again', 'at once'])
  })

  it('do not fire after they were cleared: by object, by number, or at the end of a block', async () => {
    const fired: string[] = []
    clearTimeout(setTimeout(() => fired.push('itself'), 1))
    clearTimeout(+setTimeout(() => fired.push('number'), 1))
    clearTimeout(`${+setTimeout(() => fired.push('text'), 1)}`)
    clearImmediate(setImmediate(() => fired.push('immediate')))
    {
      using timer = setTimeout(() => fired.push('block'), 1)
      expect(timer.hasRef()).toBe(true)
      using immediate = setImmediate(() => fired.push('block'))
      expect(immediate.hasRef()).toBe(true)
    }
    setTimeout(() => fired.push('closed'), 1).close()
    await new Promise<void>((done) => setTimeout(done, 20))
    expect(fired).toEqual([])
  })

  it('have ref, unref, hasRef and refresh', () => {
    for (const timer of [setTimeout(() => undefined, 1), setInterval(() => undefined, 1)]) {
      expect([timer.unref(), timer.refresh(), timer.ref()]).toEqual([timer, timer, timer])
      expect(timer.unref().hasRef()).toBe(false)
      clearTimeout(timer)
    }
    expect(setImmediate(() => undefined).unref().hasRef()).toBe(false)
  })

  it('can be promisified', async () => {
    expect(await promisify(setTimeout)(1, 'late')).toBe('late')
    expect(await promisify(setImmediate)('at once')).toBe('at once')
  })

  it('expose no internal state of Node', async () => {
    const shown = [setTimeout(() => undefined), setImmediate(() => undefined)]
    await new Promise<void>((done) => setTimeout(function self(this: NodeJS.Timeout) {
      shown.push(this as never)
      done()
    }))
    for (const timer of shown) {
      expect(Reflect.ownKeys(timer)).toEqual([])
      expect(Reflect.ownKeys(Object.getPrototypeOf(timer) as object).map(String)
        .filter((key) => /^_|async|inspect/i.test(key)))
        .toEqual([])
    }
  })

  it.each([
    ['looks like a timer', { _onTimeout: () => undefined, _idleNext: {} }],
    ['is a function', Object.assign(() => 1, { _onTimeout: 1 })],
    ['is nothing', null],
  ])('ignore an argument of clear that %s', (_what, given) => {
    const before = { ...given }
    for (const clear of [clearTimeout, clearInterval, clearImmediate]) clear(given as never)
    expect({ ...given }).toEqual(before)
  })

  it('throw the same error as Node for an invalid callback', () => {
    for (const start of [setTimeout, setInterval, setImmediate]) {
      expect(() => start('code' as never)).toThrow(expect.objectContaining({ code: 'ERR_INVALID_ARG_TYPE' }))
    }
  })
})
