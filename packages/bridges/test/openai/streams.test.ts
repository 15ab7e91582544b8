import { expect, it } from 'vitest'
import { ResponseCallStream, ToolCallStream } from '../../src/openai/index.ts'

const chunk = (...tool_calls: { index: number; id?: string; function?: object; custom?: object }[]) =>
  ({ choices: [{ index: 0, delta: { tool_calls } }] })

it('assembles the calls of a streamed chat completion', () => {
  const stream = new ToolCallStream()
  const seen = [
    chunk({ index: 0, id: 'c1', function: { name: 'read', arguments: '' } }),
    {
      choices: [
        { index: 0, delta: {} }, { index: 1, delta: { tool_calls: [{ index: 0, function: { arguments: 'x' } }] } },
      ],
    },
    chunk({ index: 0, function: { arguments: '{"pa' } }, { index: 2, id: 'c2', custom: { name: 'free', input: 'a' } }),
    chunk({ index: 2, custom: { input: 'b' } }, { index: 0, function: { arguments: 'th":"a"}' } }),
    { choices: [] },
  ].flatMap((one) => stream.add(one))
  expect(seen.map(({ name, text }) => [name, text])).toEqual([
    ['read', ''], ['read', '{"pa'], ['free', 'a'], ['free', 'ab'], ['read', '{"path":"a"}'],
  ])
  expect(stream.calls()).toEqual([
    { id: 'c1', type: 'function', function: { name: 'read', arguments: '{"path":"a"}' } },
    { id: 'c2', type: 'custom', custom: { name: 'free', input: 'ab' } },
  ])
})

it('tells calls of one index, or without one, apart by their ids', () => {
  const whole = (id: string, index?: number) => ({
    ...(index !== undefined && { index }), id, function: { name: 'read', arguments: `"${id}"` },
  })
  const idsOf = (...deltas: ReturnType<typeof whole>[]) => {
    const stream = new ToolCallStream()
    for (const delta of deltas) stream.add({ choices: [{ index: 0, delta: { tool_calls: [delta] } }] })
    return stream.calls().map((call) => call.type === 'function' && [call.id, call.function.arguments])
  }
  expect(idsOf(whole('a', 0), whole('b', 0))).toEqual([['a', '"a"'], ['b', '"b"']])
  expect(idsOf(whole('a'), whole('b'))).toEqual([['a', '"a"'], ['b', '"b"']])
  expect(idsOf(whole('a', 0), whole('a', 0))).toEqual([['a', '"a""a"']])
})

it('takes no more than one JSON value may have, and leaves no gap', () => {
  const stream = new ToolCallStream()
  stream.add(chunk({ index: 0, id: 'c1', function: { name: 'read', arguments: '{"a":"' } }))
  stream.add(chunk({ index: 0, function: { arguments: 'x'.repeat(17 * 1024 * 1024) } }))
  stream.add(chunk({ index: 0, function: { arguments: '"}' } }))
  expect(stream.calls()).toEqual([{ id: 'c1', type: 'function', function: { name: 'read', arguments: '{"a":"' } }])
})

it('assembles the calls of a streamed response', () => {
  const stream = new ResponseCallStream()
  const called = { type: 'function_call', call_id: 'c1', name: 'read', arguments: '' } as const
  const events = [
    { type: 'response.created' },
    { type: 'response.output_item.added', output_index: 0, item: { type: 'message' } },
    { type: 'response.output_item.added', output_index: 1, item: called },
    { type: 'response.function_call_arguments.delta', output_index: 1, delta: '{"pa' },
    { type: 'response.function_call_arguments.delta', output_index: 1, delta: 'th":"a"}' },
    { type: 'response.function_call_arguments.done', output_index: 1, arguments: '{"path":"a"}' },
    {
      type: 'response.output_item.added', output_index: 2,
      item: { type: 'custom_tool_call', call_id: 'c2', name: 'free', input: '' },
    },
    { type: 'response.custom_tool_call_input.delta', output_index: 2, delta: 'x' },
    { type: 'response.custom_tool_call_input.done', output_index: 2, input: 'xy' },
    { type: 'response.output_item.done', output_index: 1, item: { ...called, arguments: '{"path":"a"}' } },
  ] as const
  expect(events.map((event) => stream.add(event)?.text)).toEqual([
    undefined, undefined, '', '{"pa', '{"path":"a"}', '{"path":"a"}', '', 'x', 'xy', '{"path":"a"}',
  ])
  expect(stream.calls()).toEqual([
    { ...called, arguments: '{"path":"a"}' },
    { type: 'custom_tool_call', call_id: 'c2', name: 'free', input: 'xy' },
  ])
})
