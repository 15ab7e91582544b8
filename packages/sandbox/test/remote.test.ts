import { expect, it } from 'vitest'
import { Conversation } from '../src/wire/conversation.ts'
import type { Message } from '../src/wire/protocol.ts'
import { KINDS } from '../src/wire/protocol.ts'
import { Remote } from '../src/wire/remote.ts'

const { request, value, failure } = KINDS.call

function conversation(): { readonly posted: Message[]; readonly talk: Conversation; readonly remote: Remote } {
  const posted: Message[] = []
  const talk = new Conversation(KINDS.call, (message) => {
    if (message[2] === 'unsendable') throw new RangeError('too large')
    posted.push(message)
  })
  return { posted, talk, remote: new Remote(talk) }
}

/** Everything that was told, in order. */
const notes = (told: string[], name: string): Parameters<Remote['ask']>[2] => ({
  answered: (answer) => void told.push(`${name}: ${String(answer)}`),
  failed: (error) => void told.push(`${name} failed: ${(error as Error).message}`),
})

it('tells each question its own answer, once', () => {
  const { posted, talk, remote } = conversation()
  const told: string[] = []
  remote.ask('first', [1], notes(told, 'first'))
  remote.ask('second', [], notes(told, 'second'))
  expect(posted).toEqual([[request, 1, 'first', [1]], [request, 2, 'second', []]])
  talk.deliver([failure, 2, { name: 'E', message: 'no' }])
  talk.deliver([value, 1, 'yes'])
  talk.deliver([value, 1, 'again'])
  talk.deliver([value, 3, 'nobody asked'])
  expect(told).toEqual(['second failed: no', 'first: yes'])
})

it('fails a question that cannot be sent, and no other', () => {
  const { talk, remote } = conversation()
  const told: string[] = []
  remote.ask('unsendable', [], notes(told, 'large'))
  remote.ask('small', [], notes(told, 'small'))
  talk.deliver([value, 2, 1])
  expect(told).toEqual(['large failed: too large', 'small: 1'])
})

it('ends everything that is open, everything that comes, and only once', () => {
  const { posted, talk, remote } = conversation()
  const told: string[] = []
  remote.ask('open', [], {
    answered: () => undefined,
    // A waiter may ask again at once.
    failed: () => remote.ask('in between', [], notes(told, 'in between')),
  })
  remote.ask('open too', [], notes(told, 'open too'))
  remote.end(new Error('over'))
  remote.end(new Error('again'))
  remote.ask('late', [], notes(told, 'late'))
  talk.deliver([value, 2, 'late'])
  expect(told).toEqual(['in between failed: over', 'open too failed: over', 'late failed: over'])
  expect(posted).toHaveLength(2)
})

it('has promises for those who want them', async () => {
  const { talk, remote } = conversation()
  const [kept, broken] = [remote.call('a', 1, 2), remote.call('b')]
  talk.deliver([value, 1, 3])
  talk.deliver([failure, 2, { name: 'TypeError', message: 'no', code: 'X' }])
  expect(await kept).toBe(3)
  await expect(broken).rejects.toMatchObject({ name: 'TypeError', message: 'no', code: 'X' })
})
