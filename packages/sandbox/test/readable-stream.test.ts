import { describe, expect, it } from 'vitest'
import { invocation, newSandbox, requestOf, running } from './fixture.ts'

/** Runs in a compartment, because the replacement changes the streams of the whole thread. */
const inside = async (body: string): Promise<unknown> => {
  const source = running(`
    const all = async (stream) => {
      const values = []
      for await (const value of stream) values.push(value)
      return values
    }
    const counting = (to, reasons = []) => {
      let at = 0
      const pull = (controller) => at === to ? controller.close() : controller.enqueue(at++)
      return new ReadableStream({ pull, cancel: (reason) => void reasons.push(reason) })
    }
    const refused = (attempt) => { try { attempt() } catch (error) { return error.message } }
    ${body}
  `)
  const session = await newSandbox().open(requestOf({ placement: 'thread', source }))
  return session.call(invocation())
}

describe('a readable stream of a compartment', () => {
  it('can be read, piped, and created from an iterable', async () => {
    expect(await inside(`
      const double = new TransformStream({ transform: (value, controller) => controller.enqueue(value * 2) })
      const source = { own: 'x', start(controller) { controller.enqueue(this.own); controller.close() } }
      return [
        await all(counting(3).pipeThrough(double)), await all(ReadableStream.from(['a'])),
        await all(new ReadableStream(source))]
    `)).toEqual([[0, 2, 4], ['a'], ['x']])
  })

  it('is an instance of ReadableStream, and can be subclassed', async () => {
    expect(await inside(`
      class Own extends ReadableStream {}
      const streams = [new ReadableStream(), new Own(), new TransformStream().readable, counting(1).tee()[0]]
      return [streams.every((stream) => stream instanceof ReadableStream), new Own().constructor === Own,
        streams[2].constructor === ReadableStream, ReadableStream.name]
    `)).toEqual([true, true, true, 'ReadableStream'])
  })

  it('has two branches that both get all values', async () => {
    expect(await inside('const [one, other] = counting(4).tee(); return [await all(one), await all(other)]'))
      .toEqual([[0, 1, 2, 3], [0, 1, 2, 3]])
  })

  it('is cancelled when both of its branches are, with both reasons', async () => {
    expect(await inside(`
      const reasons = []
      const [one, other] = counting(4, reasons).tee()
      const cancelled = one.cancel('no')
      const before = [...reasons]
      await Promise.all([cancelled, other.cancel('nor I')])
      return [before, reasons]
    `)).toEqual([[], [['no', 'nor I']]])
  })

  it('continues in one branch when the other is cancelled, and fails in both', async () => {
    expect(await inside(`
      const [one, other] = counting(3).tee()
      void one.cancel('no')
      const torn = new ReadableStream({ pull: () => Promise.reject(new Error('torn')) }).tee()
      const failures = await Promise.all(
        torn.map((branch) => branch.getReader().read().catch((error) => error.message)),
      )
      return [await all(other), failures]
    `)).toEqual([[0, 1, 2], ['torn', 'torn']])
  })

  it('cannot be a byte stream', async () => {
    const messages = await inside(`
      let looks = 0
      const shifty = { get type() { return looks++ > 0 ? 'bytes' : undefined } }
      return [
        refused(() => new ReadableStream({ type: 'bytes' })),
        refused(() => new ReadableStream(Object.assign(() => 1, { type: 'bytes' }))),
        refused(() => new (new TransformStream().readable.constructor)({ type: 'bytes' })),
        refused(() => new ReadableStream(shifty).getReader({ mode: 'byob' })),
      ]
    `) as readonly string[]
    expect(messages.map((text) => /Leave `(\w+)` out/.exec(text)?.[1])).toEqual(['type', 'type', 'type', 'mode'])
  })
})
