import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { forestOf } from '../src/loads/extension-forest.ts'
import { loadingSides } from '../src/subjects/loader.ts'
import { warmStartSides } from '../src/subjects/loader-warm.ts'

describe('loading', () => {
  it('works repeatedly for every side', async () => {
    for (const side of loadingSides(3)) {
      const runner = await side.start()
      expect([side.name, await runner.run(0), await runner.run(1)]).toEqual([side.name, side.answer(), side.answer()])
      await runner.stop()
    }
  })

  it('from a cache runs in a separate process, which reports its CPU time', async () => {
    for (const side of warmStartSides(3)) {
      const runner = await side.start()
      expect(await runner.cpuMs?.()).toBeGreaterThan(0)
      await runner.stop()
    }
  })

  it('removes the extensions after the last user', async () => {
    const forest = forestOf(1)
    const [first, second] = [await forest.open(), await forest.open()]
    expect(second).toBe(first)
    await forest.close()
    expect(existsSync(first.globalRoot)).toBe(true)
    await forest.close()
    expect(existsSync(first.globalRoot)).toBe(false)
  })
})
