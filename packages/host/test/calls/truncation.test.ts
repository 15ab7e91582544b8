import { CALL_LIMITS } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { truncate } from '../../src/calls/truncation.ts'

const output = (data: Json) => ({ type: 'output', data }) as const
/** Bytes of the JSON, with each escape counted as one character. */
const bytes = (value: Json): number =>
  Buffer.byteLength(
    typeof value === 'string'
      ? value
      : JSON.stringify(value).replaceAll(/\\(?:u[0-9a-f]{4}|.)/g, (escape) => JSON.parse(`"${escape}"`)),
  )

test('a result within the limit is unchanged', () => {
  const body = output({ a: ['x', 1, null] })
  expect(truncate(body, 100)).toEqual({ body, whole: undefined })
  expect(truncate(body, 100).body).toBe(body)
})

test('a string is cut between characters, and the whole is saved', () => {
  const { body, whole } = truncate(output('ab€😀'), 5)
  expect(body).toEqual(output('ab€'))
  expect(whole).toBe('ab€😀')
  expect(truncate(output('😀😀'), 7).body).toEqual(output('😀'))
})

test('a list is cut after a whole item, and an object keeps its form and its short members', () => {
  const list = Array.from({ length: 1_000 }, (_, index) => ({ path: `file-${index}`, line: index }))
  const { body } = truncate(output({ matches: list, total: 1_000, done: true }), 500)
  if (body.type !== 'output') throw new Error('it was an output')
  const data = body.data as { matches: readonly Json[]; total: number; done: boolean }
  expect(data.total).toBe(1_000)
  expect(data.done).toBe(true)
  expect(data.matches.length).toBeGreaterThan(5)
  expect(data.matches.length).toBeLessThan(100)
  expect(data.matches[0]).toEqual({ path: 'file-0', line: 0 })
})

test('content and error texts are cut too, images are not', () => {
  const image = { type: 'image', data: 'A'.repeat(500), mimeType: 'image/png' } as const
  const { body, whole } = truncate(
    {
      type: 'output',
      data: null,
      content: [
        { type: 'text', text: 'x'.repeat(90) }, image, { type: 'text', text: 'y'.repeat(90) },
        { type: 'text', text: 'z' },
      ],
    },
    100,
  )
  expect(body.content).toEqual([{ type: 'text', text: 'x'.repeat(90) }, image, { type: 'text', text: 'y'.repeat(10) }])
  expect(whole).toBe(`${'x'.repeat(90)}\n${'y'.repeat(90)}\nz`)
  const error = { code: 'ToolExecutionFailed', class: 'ToolTerminal', retryable: false } as const
  expect(
    truncate({ type: 'error', error_text: 'e'.repeat(200), error }, 100).body,
  ).toEqual({ type: 'error', error_text: 'e'.repeat(100), error })
})

test('the number of images is limited, and the rest is saved', () => {
  const images = Array.from(
    { length: CALL_LIMITS.shownImages + 1 },
    (_, index) => ({ type: 'image', data: `${index}`, mimeType: 'image/png' }) as const,
  )
  const caption = { type: 'text', text: 'That is all.' } as const
  const { body, whole } = truncate({ ...output(null), content: [...images, caption] }, 100)
  expect(body.content).toEqual([...images.slice(0, -1), caption])
  expect(JSON.parse(whole!)).toEqual([...images, caption])
  const shown = { ...output(null), content: images.slice(1) }
  expect(truncate(shown, 100)).toEqual({ body: shown, whole: undefined })
})

test('audio and binary resources count as images, texts and names of resources as text', () => {
  const sounds = Array.from(
    { length: CALL_LIMITS.shownImages },
    (_, index) => ({ type: 'audio', data: `${index}`, mimeType: 'audio/wav' }) as const,
  )
  const blob = { type: 'resource', uri: 'file:///b', blob: 'A'.repeat(500) } as const
  const many = { ...output(null), content: [...sounds, blob] }
  expect(truncate(many, 100).body.content).toEqual(sounds)
  expect(truncate({ ...output(null), content: [blob] }, 100).whole).toBeUndefined()
  const text = { type: 'resource', uri: 'file:///a', text: 'x'.repeat(90) } as const
  const link = { type: 'resource_link', uri: `file:///${'c'.repeat(90)}`, name: 'c' } as const
  const cut = truncate({ ...output(null), content: [text, link, { ...text, uri: 'f:' }] }, 100)
  expect(cut.body.content).toEqual([text])
  expect(JSON.parse(cut.whole!)).toEqual([text, link, { ...text, uri: 'f:' }])
  expect(truncate({ ...output(null), content: [text] }, 49).body.content).toEqual([{ ...text, text: 'x'.repeat(40) }])
})

test('metadata is cut too, except fields that programs need whole', () => {
  const long = 'x'.repeat(300)
  const result = { ...output(1), details: { raw: long, n: 1 }, completion: { needsFollowup: true, message: long } }
  expect(truncate(result, 100)).toEqual({
    body: {
      ...output(1), details: { raw: expect.stringMatching(/^x{50,100}$/), n: 1 },
      completion: { needsFollowup: true, message: 'x'.repeat(100) },
    },
    whole: `${JSON.stringify(result.details, null, 2)}\n${long}`,
  })
  const error = { code: 'NotFound', class: 'ToolTerminal', retryable: false, data: { raw: long } } as const
  const { body, whole } = truncate(
    { type: 'error', error_text: 'e'.repeat(200), error, completion: { terminal: true } },
    100,
  )
  expect(body).toMatchObject({
    error_text: 'e'.repeat(100), error: { code: 'NotFound', data: { raw: expect.stringMatching(/^x{50,100}$/) } },
    completion: { terminal: true },
  })
  expect(whole).toBe(`${'e'.repeat(200)}\n${JSON.stringify(error.data, null, 2)}`)
  const paused = { type: 'error', error_text: 'wait', error: { ...error, code: 'ClarificationNeeded' } } as const
  expect(truncate(paused, 100).body).toBe(paused)
})

test('one long string of an object is saved alone; several are saved with the object', () => {
  const [out, err] = ['one\ntwo\n'.repeat(50), 'x'.repeat(300)]
  const { body, whole } = truncate(output({ stdout: out, stderr: 'a warning', exit: 0, more: { a: [1] } }), 200)
  expect(body).toMatchObject({
    data: { stdout: expect.stringMatching(/^one/), stderr: 'a warning', exit: 0, more: { a: [1] } },
  })
  expect(whole).toBe(out)
  for (const data of [{ stdout: out, stderr: err }, { list: [out, out], exit: 0 }, [out], { nested: { out } }]) {
    expect(truncate(output(data), 200).whole).toBe(JSON.stringify(data, null, 2))
  }
  const result = { ...output({ stdout: out }), content: [{ type: 'text' as const, text: err }] }
  expect(truncate(result, 200).whole).toBe(`${err}\n${out}`)
})

test('empty content is never truncated', () => {
  expect(truncate(output(''), 1)).toEqual({ body: output(''), whole: undefined })
  const result = { ...output(null), content: [{ type: 'text' as const, text: 'abcde' }] }
  expect(truncate(result, 5).body).toBe(result)
})

test('the head of any value is well formed and within the limit, and nothing that fits is cut', () => {
  fc.assert(fc.property(fc.jsonValue({ maxDepth: 4 }), fc.integer({ min: 1, max: 200 }), (value, maxBytes) => {
    const data = JSON.parse(JSON.stringify(value)) as Json
    const { body, whole } = truncate(output(data), maxBytes)
    if (body.type !== 'output') throw new Error('it was an output')
    expect(whole === undefined).toBe(bytes(data) <= maxBytes)
    if (whole === undefined) expect(body.data).toBe(data)
    // If nothing fits, the result is null.
    expect(bytes(body.data)).toBeLessThanOrEqual(Math.max(maxBytes, 4))
    expect(JSON.stringify(body.data).isWellFormed()).toBe(true)
  }))
})

test('a list has the requested number of items, and the whole is saved', () => {
  const data = { paths: ['a', 'b', 'c'], total: 3, note: 'x' }
  expect(truncate(output(data), 1_000, 2)).toEqual({
    body: output({ paths: ['a', 'b'], total: 3, note: 'x' }), whole: JSON.stringify(data, null, 2),
  })
  expect(truncate(output(data), 1_000, 3)).toEqual({ body: output(data), whole: undefined })
  expect(truncate(output(['a', 'b']), 1_000, 1).body).toEqual(output(['a']))
  expect(truncate(output({ long: ['x'.repeat(50), 'y'.repeat(50), 'z'] }), 80, 2).body).toMatchObject({
    data: { long: [expect.any(String), expect.any(String)] },
  })
})

test('long members share the room, so that none takes the place of another', () => {
  const data = { stdout: 'o'.repeat(5_000), stderr: 'e'.repeat(9_000), exit_code: 0, note: 'n'.repeat(50) }
  const { body } = truncate(output(data), 1_000)
  if (body.type !== 'output') throw new Error('it was an output')
  const cut = body.data as typeof data
  expect({ ...cut, stdout: cut.stdout.length > 350, stderr: cut.stderr.length > 350 })
    .toEqual({ stdout: true, stderr: true, exit_code: 0, note: data.note })
  expect(bytes(body.data)).toBeLessThanOrEqual(1_000)
})

test('a stream keeps its end, and a list has its end beside it', () => {
  const stdout = Array.from({ length: 1_000 }, (_, index) => `${index}\n`).join('')
  const { body, whole } = truncate(output({ stdout, exit_code: 1 }), 500, Infinity, true)
  const { stdout: shown } = (body as unknown as { data: { stdout: string } }).data
  expect([shown.startsWith('0\n1\n'), shown.endsWith('\n999\n'), whole === stdout]).toEqual([true, true, true])
  const paths = Array.from({ length: 100 }, (_, index) => index)
  expect(truncate(output({ paths, total: 100 }), 5_000, 10, true).body)
    .toEqual(output({ paths: paths.slice(0, 10), total: 100, last: paths.slice(-20) }))
  expect(truncate(output({ paths: paths.slice(0, 12) }), 5_000, 10, true).body)
    .toEqual(output({ paths: paths.slice(0, 10), last: [10, 11] }))
})
