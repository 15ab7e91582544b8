import { expect, test } from 'vitest'
import { createProgrammaticInteractor } from '../../../src/embedder.ts'
import { flush } from '../../twin/clock.ts'

const envelope = (correlationId: string) =>
  ({ correlationId, issuedAt: '2026-01-01T00:00:00Z', source: 'host', request: { kind: 'Ask', prompt: '?' } }) as const
const { signal: never } = new AbortController()

test('questions are reported, stay pending in order, and are answered by id', async () => {
  const person = createProgrammaticInteractor()
  const questions: string[] = []
  const off = person.onQuestion(({ correlationId }) => questions.push(correlationId))
  const answers = [person.interact(envelope('1'), never), person.interact(envelope('2'), never)]
  off()
  void person.interact(envelope('3'), never)
  expect(questions).toEqual(['1', '2'])
  expect(person.pending.map(({ correlationId }) => correlationId)).toEqual(['1', '2', '3'])
  person.answer('2', { status: 'accepted', value: 'b' })
  person.answer('1', { status: 'rejected' })
  expect(await Promise.all(answers)).toEqual([{ status: 'rejected' }, { status: 'accepted', value: 'b' }])
  expect(person.pending.map(({ correlationId }) => correlationId)).toEqual(['3'])
})

test('a withdrawn question is removed, and answering it is rejected', async () => {
  const person = createProgrammaticInteractor()
  const cancel = new AbortController()
  const answer = person.interact(envelope('1'), cancel.signal)
  cancel.abort(new Error('void'))
  await expect(answer).rejects.toThrow('void')
  expect(person.pending).toEqual([])
  const late = () => person.answer('1', { status: 'rejected' })
  expect(late).toThrowError(expect.objectContaining({ code: 'InteractionAlreadyAnswered' }))
  await expect(person.interact(envelope('2'), cancel.signal)).rejects.toThrow('void')
})

test('a listener that throws fails the question, and leaves nothing pending', async () => {
  const person = createProgrammaticInteractor()
  person.onQuestion(() => { throw new Error('no window') })
  await expect(person.interact(envelope('1'), never)).rejects.toThrow('no window')
  expect(person.pending).toEqual([])
})

test('an async listener that rejects fails the question, unless the question is over', async () => {
  const person = createProgrammaticInteractor()
  const off = person.onQuestion(async () => { throw new Error('no window') })
  await expect(person.interact(envelope('1'), never)).rejects.toThrow('no window')
  off()
  const typed = Promise.withResolvers<void>()
  person.onQuestion(async ({ correlationId }) => {
    await typed.promise
    person.answer(correlationId, { status: 'accepted', value: 'a' })
  })
  const cancel = new AbortController()
  const answer = person.interact(envelope('2'), cancel.signal)
  cancel.abort(new Error('void'))
  await expect(answer).rejects.toThrow('void')
  const unhandled: unknown[] = []
  const onRejection = (reason: unknown) => void unhandled.push(reason)
  process.on('unhandledRejection', onRejection)
  typed.resolve()
  await flush()
  process.off('unhandledRejection', onRejection)
  expect(unhandled).toEqual([])
})
