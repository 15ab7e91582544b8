import { expect, it } from 'vitest'
import { LONG } from '../../scripts/thoroughly.ts'
import { codeMode, codeModeTokens } from '../src/subjects/code-mode.ts'

it('compares a program with the same calls', () => {
  expect([...codeMode.ratios, ...codeModeTokens.ratios]).toEqual([
    { side: '100 calls in a program', measure: 'p50', against: '100 calls', is: '≤', ratio: 1.3 },
    { side: '100 reads in a program', measure: 'p50', against: '100 reads' },
    { side: 'one program', measure: 'tokens', against: '20 calls', is: '≤', ratio: 0.2 },
  ])
})

it('a program needs at most a fifth of the tokens', LONG, async () => {
  const [direct, program] = await Promise.all(codeModeTokens.sides.map(async (side) => {
    const runner = await side.start()
    const tokens = await runner.tokens!()
    await runner.stop()
    return tokens
  }))
  expect(program! / direct!).toBeLessThanOrEqual(0.2)
})
