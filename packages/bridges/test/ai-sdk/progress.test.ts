import type { CallProgress, Outcome } from '@bulkhead/contract'
import { expect, it } from 'vitest'
import { withProgress } from '../../src/ai-sdk/progress.ts'

it('keeps the last 64 preliminary results for an SDK that does not read', async () => {
  const metadata = { call_id: 'c1', tool: 'x', origin: null, duration_ms: 1, attempt: 1 }
  const results = withProgress(undefined, async ({ onProgress }): Promise<Outcome> => {
    for (let index = 0; index < 100; index++) onProgress!({ text: `${index}` } as CallProgress)
    return { type: 'output', data: null, metadata }
  })
  const texts: unknown[] = []
  for await (const one of results) texts.push(one.type === 'progress' ? one.text : one.type)
  expect(texts).toEqual([...Array.from({ length: 64 }, (_, index) => `${36 + index}`), 'output'])
})
