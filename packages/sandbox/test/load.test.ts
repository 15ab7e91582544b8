import type { Json } from '@bulkhead/contract'
import { describe, expect, it } from 'vitest'
import { judgeOffers } from '../src/main/load.ts'
import { refusal, requestOf } from './fixture.ts'

const offering = (...names: readonly string[]): Json => ({ tools: ['run', ...names].map((name) => ({ name })), phases: [] })
const messageFor = async (reply: Json): Promise<string> => {
  const judge = async (): Promise<unknown> => judgeOffers(reply, requestOf({ placement: 'thread', source: '' }))
  return (await refusal(judge())).message
}

describe('tools that the manifest does not declare', () => {
  it('are named', async () => {
    expect(await messageFor(offering('first', 'second'))).toBe('The code of example is not what its manifest says: '
      + 'the code offers first, which the manifest does not declare; '
      + 'the code offers second, which the manifest does not declare. '
      + 'Make both name the same.')
  })

  it('are counted when there are many', async () => {
    const message = await messageFor(offering(...Array.from({ length: 10_000 }, (_, at) => `tool${at}`)))
    expect(message).toMatch(/the code offers tool4, which the manifest does not declare; and 9995 more\. /)
    expect(message.length).toBeLessThan(600)
  })

  it('are cut, and command no terminal', async () => {
    const message = await messageFor(offering('\u001B[2J'.repeat(250_000)))
    expect(message).toContain('the code offers \\u{1b}[2J')
    expect(message).toContain('…, which')
    expect(message).not.toMatch(/\p{Cc}|\p{Cf}/u)
    expect(message.length).toBeLessThan(600)
  })
})
