import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { createTerminalInteractor } from '../../src/index.ts'

const [ENTER, DOWN] = ['\r', '\u001b[B']
const downs = (count: number): readonly string[] => Array.from({ length: count }, () => DOWN)

const approval = {
  sessionId: 's', callId: 'c', tool: 'forecast', label: 'Forecast', mode: 'external', kind: 'fetch',
  origin: 'weather', approvalKey: 'Oslo', argumentsText: '', touches: [], mayTouch: [], reasons: [],
  answers: [
    { decision: 'once', covers: 'call', words: 'this call' },
    { decision: 'session', covers: 'key', words: 'this file', keys: ['a/b.txt'] },
    { decision: 'session', covers: 'workspace', words: 'the workspace', keys: ['./'], narrower: ['a/'] },
  ],
} as const

it.each<[string, readonly string[], object]>([
  ['not now', [...downs(2), ENTER], { decision: 'later' }],
  ['a number of calls', [...downs(3), ENTER, ENTER, '5 times', ENTER], { decision: 'session', covers: 'key', uses: 5 }],
  [
    'a time and a narrower key', [...downs(3), ENTER, ...downs(2), ENTER, '1 h', ENTER],
    { decision: 'session', covers: 'workspace', key: 'a/', until: expect.any(String) },
  ],
  [
    'other arguments', [...downs(4), ENTER, '{"city":"Bodo"}', ENTER],
    { decision: 'once', arguments: { city: 'Bodo' } },
  ],
])('a person answers with %s', async (_, keys, value) => {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const request = { kind: 'Approve', approval } as const
  const response = createTerminalInteractor({ input, output })
    .interact({ correlationId: 'q', issuedAt: '', source: 'host', request }, new AbortController().signal)
  let shown = ''
  output.on('data', (chunk) => { shown += String(chunk) })
  while (!shown.includes('Run it?')) await once(output, 'data')
  for (const key of keys) input.write(key)
  expect(await response).toEqual({ status: 'accepted', value: { ...value, by: expect.any(String) } })
})
