import { BulkheadError, readAnswerLimit, LIMIT_EXAMPLES, type InteractionRequest, type InteractionResponse } from '@bulkhead/contract'
import { openQuestions, type AnswerFate, type QuestionBook, type WaitingQuestion } from '@bulkhead/host'
import { isJsonObject, parseJson, type Json, type JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { accountName } from '../../facade/folders.ts'
import { approvalText, questionText, screenOf } from '../../facade/terminal/prompt-text.ts'
import { defineSubcommand, UsageError, type Command, type CommandOptions, type ValuesOf } from '../command.ts'
import { RECORDS_OPTIONS, withStore } from '../host-options.ts'
import { hint, printJson, table } from '../output.ts'
import { serve } from './waiting-serve.ts'

/** A shorter prefix is probably a typing error. */
const LEAST_ID_CHARS = 4

const list = defineSubcommand({
  text: 'list what waits for a person, in every process on the store, oldest first',
  usage: '',
  options: RECORDS_OPTIONS,
  run: ({ values }) => withStore(values, 'store', async (store) => {
    const found = await openQuestions(store).list()
    if (values.json) printJson(found)
    else process.stdout.write(found.length === 0 ? 'Nothing waits for a person.\n' : rowsOf(found))
    return 0
  }),
})

const show = defineSubcommand({
  text: 'show one question with the whole call, and the answers to it',
  usage: 'ID',
  options: RECORDS_OPTIONS,
  async run({ values, positionals: [id, ...more] }) {
    if (id === undefined || more.length > 0) throw new UsageError('Missing id. Use: bulkhead waiting show ID.')
    return withStore(values, 'store', async (store) => {
      const question = await named(openQuestions(store), id)
      if (values.json) printJson(question)
      else process.stdout.write(pageOf(question))
      return 0
    })
  },
})

const ANSWER_OPTIONS = {
  limit: { type: 'string', value: 'LIMIT', text: `with session or project: until a time, or how often: ${LIMIT_EXAMPLES}` },
  key: { type: 'string', value: 'KEY', text: 'with session:workspace: only this narrower key' },
  args: { type: 'string', value: 'JSON', text: 'with once: other arguments, which are judged again' },
  reason: { type: 'string', value: 'TEXT', text: 'with reject: the reason for the model' },
  ...RECORDS_OPTIONS,
} as const satisfies CommandOptions

const answer = defineSubcommand({
  text: 'answer a question; the first answer counts',
  usage: 'ID ANSWER',
  options: ANSWER_OPTIONS,
  async run({ values, positionals: [id, given, ...more] }) {
    if (id === undefined || given === undefined || more.length > 0) {
      throw new UsageError('Name a question and an answer. Use: bulkhead waiting answer ID once.')
    }
    return withStore(values, 'store', async (store) => {
      const book = openQuestions(store)
      const question = await named(book, id)
      const response = responseOf(question.request, given, values)
      const from = { by: `${accountName()} with bulkhead waiting`, way: 'command', round: question.round }
      const fate = await book.answer(question.id, response, from)
      if (values.json) printJson({ id: question.id, fate })
      else process.stdout.write(`${FATES[fate]}\n`)
      return 0
    })
  },
})

const FATES: Readonly<Record<AnswerFate, string>> = {
  taken: 'Answered. The call goes on.',
  stored: 'Stored. The call goes on when a session resumes it.',
  unseen: 'Stored, but its host has not confirmed it yet.',
}

export const waiting: Command = {
  subcommands: { list, show, answer, serve },
  operands: {
    ID: { text: 'id from the list, or the beginning of it' },
    ANSWER: { text: 'once, session, session:folder, session:workspace, project, or reject; for other questions the text' },
  },
  details: 'Questions of hosts without a store are not listed: answer them where they are asked.',
  exits: ['on success', 'if the question does not exist, does not wait any more, or the store cannot be read'],
  examples: [
    { command: 'bulkhead waiting list', text: 'what blocks an agent now' },
    { command: 'bulkhead waiting answer 3fa9 session --limit "2 h"', text: 'allow the same for two hours' },
  ],
}

async function named(book: QuestionBook, start: string): Promise<WaitingQuestion> {
  if (!/^[0-9a-f]+$/.test(start) || start.length < LEAST_ID_CHARS) {
    throw new UsageError(`"${visibleText(start)}" is not an id. Give at least ${LEAST_ID_CHARS} characters of 0-9 and a-f.`)
  }
  const [found, ...others] = (await book.list()).filter(({ id }) => id.startsWith(start))
  if (others.length > 0) throw new BulkheadError('NotFound', `Several questions start with ${start}. Give more characters.`)
  const question = found ?? await book.find(start)
  if (question) return question
  throw new BulkheadError('NotFound', `No question starts with ${start}. It was answered, or it ended.`, { data: { id: start } })
}

function responseOf(request: InteractionRequest, given: string, values: ValuesOf<typeof ANSWER_OPTIONS>): InteractionResponse {
  const { reason, limit, key, args } = values
  if (request.kind !== 'Approve') {
    if ([limit, key, args].some((value) => value !== undefined)) throw new UsageError('This question takes an answer only.')
    if (given === 'reject') return { status: 'rejected', ...(reason !== undefined && { reason }) }
    return { status: 'accepted', value: valueFor(request, given) }
  }
  if (given === 'reject') return { status: 'accepted', value: { decision: 'reject', ...(reason !== undefined && { reason }) } }
  const [decision, covers = decision === 'once' ? 'call' : 'key'] = given.split(':')
  const offered = request.approval.answers.find((one) => one.decision === decision && one.covers === covers)
  if (!offered) {
    const all = request.approval.answers.map((one) => nameOf(one)).join(', ')
    throw new UsageError(`"${visibleText(given)}" is no answer to this question. Use ${all}, or reject.`)
  }
  if (offered.decision === 'once' ? limit !== undefined || key !== undefined : args !== undefined) {
    throw new UsageError('--limit and --key need session or project, and --args needs once.')
  }
  return {
    status: 'accepted',
    value: {
      decision: offered.decision, covers: offered.covers, ...limitIn(limit), ...keyIn(key, offered.narrower),
      ...(args !== undefined && { arguments: argumentsIn(args) }),
    },
  }
}

/** Text is text, and a choice may be several. */
function valueFor({ kind }: InteractionRequest, given: string): Json {
  if (kind === 'Ask') return given
  if (/^(?:yes|no|true|false)$/.test(given)) return given === 'yes' || given === 'true'
  const parsed = kind === 'Select' && !given.startsWith('[') ? undefined : parseJson(given)
  return parsed?.ok ? parsed.value : given
}

function limitIn(limit: string | undefined): JsonObject {
  const read = limit === undefined ? {} : readAnswerLimit(limit, Date.now())
  if (read) return { ...read }
  throw new UsageError(`"${visibleText(limit!)}" is no limit. Use ${LIMIT_EXAMPLES}. A time is within 12 hours.`)
}

function keyIn(key: string | undefined, narrower: readonly string[] = []): JsonObject {
  if (key === undefined) return {}
  if (narrower.includes(key)) return { key }
  const others = narrower.length === 0 ? 'This answer has no narrower keys' : `Use ${narrower.join(', ')}`
  throw new UsageError(`"${visibleText(key)}" is no narrower key of this answer. ${visibleText(others)}.`)
}

function argumentsIn(text: string): JsonObject {
  const parsed = parseJson(text)
  if (parsed.ok && isJsonObject(parsed.value)) return parsed.value
  throw new UsageError('--args needs a JSON object.')
}

const nameOf = ({ decision, covers }: { readonly decision: string; readonly covers: string }): string =>
  covers === 'call' || covers === 'key' ? decision : `${decision}:${covers}`

const what = ({ request }: WaitingQuestion): string => 'approval' in request
  ? `${request.approval.tool}: ${request.approval.touches[0] ?? request.approval.approvalKey}`
  : 'prompt' in request ? request.prompt : request.kind

const rowsOf = (found: readonly WaitingQuestion[]): string =>
  table(['ID', 'WAITS', 'KIND', 'SESSION', 'WHAT'], found.map((one) => [
    one.id.slice(0, 12), age(Date.now() - one.since), one.paused ? 'paused' : one.request.kind,
    one.sessionId?.slice(0, 8) ?? '-', what(one),
  ])) + hint('To answer: bulkhead waiting answer ID once\n')

function age(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  return seconds < 120 ? `${seconds} s` : seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`
}

function pageOf({ request, source, state }: WaitingQuestion): string {
  const screen = screenOf({ columns: process.stdout.columns, rows: undefined })
  const over = state === 'waits' ? '' : 'It does not wait any more.\n'
  if (request.kind !== 'Approve') return questionText(request, source, screen) + over
  const answers = request.approval.answers.map((one) => `  ${nameOf(one)}: ${visibleText(one.words)}\n`)
  return `${approvalText(request.approval, screen).whole}Answers:\n${answers.join('')}  reject: no\n${over}`
}
