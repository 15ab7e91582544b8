import type { Readable, Writable } from 'node:stream'
import { confirm, isCancel, multiselect, password, select, text } from '@clack/prompts'
import {
  LIMIT_EXAMPLES, limitWords, readAnswerLimit, type ApprovalRequest, type InteractionOption, type InteractionRequest,
  type OfferedAnswer,
} from '@bulkhead/contract'
import { isJsonObject, parseJson, type Json, type JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { accountName } from '../folders.ts'
import { answerRow, approvalText, type ApprovalText, questionText, screenOf } from './prompt-text.ts'

export interface PromptTerms {
  readonly input: Readable
  readonly output: Writable & { readonly columns?: number; readonly rows?: number }
  readonly signal: AbortSignal
}

const MAX_LABEL_CHARS = 200
const AT_THE_TERMINAL = `${accountName()} at the terminal`

/** Shows a question and returns the answer, or undefined if it was dismissed. The default is always "no". */
export async function promptPerson(
  request: InteractionRequest, source: string, terms: PromptTerms,
): Promise<Json | undefined> {
  const screen = screenOf(terms.output)
  if (request.kind === 'Approve') return approve(request.approval, approvalText(request.approval, screen), terms)
  terms.output.write(questionText(request, source, screen))
  switch (request.kind) {
    case 'Ask':
      return typed(await text({ ...terms, message: 'Your answer' }))
    case 'Auth.Password':
      return typed(await password({ ...terms, message: 'Password' }))
    case 'Select':
      return request.multiple ? chooseMany(request.options, terms) : choose(request.options, terms)
    case 'Auth.DeviceCode':
      return await agrees('Have you signed in?', terms) ? null : undefined
    case 'Form':
      // Forms are asked field by field here.
      return undefined
    case 'Confirm':
      return agrees('Yes or no?', terms)
    case 'trustProject':
      return trust(terms)
    case 'grantStageTool':
      return request.approval.passkey ? refuses(terms) : agrees('Run it anyway?', terms)
  }
}

const PASSKEY_NOTE = 'A rule demands a passkey to allow it: run "bulkhead inspect --decide" in another terminal.\n'

/** The question stays until a page answers it, or this person refuses. */
async function refuses(terms: PromptTerms): Promise<false | undefined> {
  terms.output.write(PASSKEY_NOTE)
  for (;;) {
    const isNo = await agrees('Refuse it?', terms)
    if (isNo !== false) return isNo && false
  }
}

async function approve(
  { answers: all, argumentsText, passkey }: ApprovalRequest, { short, whole, isCut }: ApprovalText, terms: PromptTerms,
): Promise<Json | undefined> {
  terms.output.write(short + (passkey ? PASSKEY_NOTE : ''))
  const answers = passkey ? [] : all
  for (;;) {
    const chosen = given(await select<string | number>({
      ...terms,
      message: 'Run it?',
      initialValue: 'reject',
      options: [
        ...answers.map((answer, index) => ({ value: index, label: answerRow(labelOf(answer), screenOf(terms.output)) })),
        { value: 'reject', label: 'No' },
        { value: 'explain', label: 'No, and say why' },
        ...(isCut ? [{ value: 'show', label: 'Show the full text' }] : []),
        { value: 'later', label: 'Not now (this is no denial)' },
        ...(answers.some(({ decision }) => decision !== 'once')
          ? [{ value: 'limit', label: 'Yes, until a time or a number of times …' }] : []),
        ...(passkey ? [] : [{ value: 'edit', label: 'Yes, with other arguments …' }]),
      ],
    }))
    if (chosen === undefined) return undefined
    if (chosen === 'show') terms.output.write(whole)
    else if (chosen === 'explain') return { decision: 'reject', ...await reason(terms) }
    else if (chosen === 'limit') return limited(answers, terms)
    else if (chosen === 'edit') return edited(argumentsText, terms)
    else if (typeof chosen === 'string') return { decision: chosen, by: AT_THE_TERMINAL }
    else return { decision: answers[chosen]!.decision, covers: answers[chosen]!.covers, by: AT_THE_TERMINAL }
  }
}

const labelOf = ({ decision, words }: OfferedAnswer): string =>
  decision === 'once' ? 'Yes, this once' : `Yes, and allow ${words}`

async function reason(terms: PromptTerms): Promise<{ readonly reason?: string; readonly by: string }> {
  const why = typed(await text({ ...terms, message: 'Why not?' }))
  return { ...(why ? { reason: why } : {}), by: AT_THE_TERMINAL }
}

/** A lasting answer with an end, and perhaps a narrower key. */
async function limited(answers: readonly OfferedAnswer[], terms: PromptTerms): Promise<Json | undefined> {
  const choices = answers.filter(({ decision }) => decision !== 'once').flatMap((answer): readonly Choice[] => [
    { answer, label: answer.words },
    ...(answer.narrower ?? []).map((key) => ({ answer, key, label: `only "${key}": ${answer.decision}` })),
  ])
  const index = given(await select({
    ...terms, message: 'Allow what?',
    options: choices.map(({ label }, value) => ({ value, label: answerRow(label, screenOf(terms.output)) })),
  }))
  const chosen = index === undefined ? undefined : choices[index]
  if (!chosen) return undefined
  const typedLimit = typed(await text({
    ...terms, message: `Until when, or how often? ${LIMIT_EXAMPLES}. Empty: no limit`,
    validate: (line) => isLimit(line) ? undefined : `Type ${LIMIT_EXAMPLES}. A time is within 12 hours.`,
  }))
  if (typedLimit === undefined) return undefined
  const limit = typedLimit.trim() === '' ? {} : readAnswerLimit(typedLimit, Date.now())
  if (!limit) return undefined
  if (limit.until !== undefined) terms.output.write(`Allowed ${limitWords(limit)}.\n`)
  const { answer: { decision, covers }, key } = chosen
  return { decision, covers, ...(key !== undefined && { key }), ...limit, by: AT_THE_TERMINAL }
}

interface Choice {
  readonly answer: OfferedAnswer
  readonly key?: string
  readonly label: string
}

const isLimit = (line: string | undefined): boolean =>
  (line ?? '').trim() === '' || readAnswerLimit(line!, Date.now()) !== undefined

/** The call with other arguments. The host judges them again. */
async function edited(argumentsText: string, terms: PromptTerms): Promise<Json | undefined> {
  const before = parseJson(argumentsText)
  const line = typed(await text({
    ...terms, message: 'The arguments, as JSON', ...(before.ok && { initialValue: JSON.stringify(before.value) }),
    validate: (value) => objectIn(value ?? '') ? undefined : 'Type a JSON object.',
  }))
  const args = line === undefined ? undefined : objectIn(line)
  return args && { decision: 'once', arguments: args, by: AT_THE_TERMINAL }
}

function objectIn(line: string): JsonObject | undefined {
  const parsed = parseJson(line)
  return parsed.ok && isJsonObject(parsed.value) ? parsed.value : undefined
}

async function trust(terms: PromptTerms): Promise<Json | undefined> {
  return given(await select<Json>({
    ...terms,
    message: 'Trust it?',
    initialValue: false,
    options: [
      { value: false, label: 'Not now' },
      { value: 'once', label: 'This once' },
      { value: 'trusted', label: 'Until it changes' },
      { value: 'declined', label: 'No, until it changes' },
    ],
  }))
}

async function agrees(message: string, terms: PromptTerms): Promise<boolean | undefined> {
  return given(await confirm({ ...terms, message, initialValue: false }))
}

async function choose(options: readonly InteractionOption[], terms: PromptTerms): Promise<Json | undefined> {
  const index = given(await select({ ...terms, message: 'Which one?', options: choices(options) }))
  return index === undefined ? undefined : options[index]?.label
}

async function chooseMany(options: readonly InteractionOption[], terms: PromptTerms): Promise<Json | undefined> {
  const indexes = given(
    await multiselect({ ...terms, message: 'Which ones?', options: choices(options), required: false }),
  )
  return indexes?.flatMap((index) => options[index]?.label ?? [])
}

/** Values are indexes, because two labels can look the same after escaping. */
const choices = (options: readonly InteractionOption[]) => options.map(({ label, description }, value) => ({
  value, label: oneLine(label), ...(description ? { hint: oneLine(description) } : {}),
}))

function oneLine(label: string): string {
  const shown = visibleText(label)
  return shown.length > MAX_LABEL_CHARS ? `${shown.slice(0, MAX_LABEL_CHARS)}…` : shown
}

const given = <Answer>(answer: Answer | symbol): Exclude<Answer, symbol> | undefined =>
  isCancel(answer) ? undefined : answer as Exclude<Answer, symbol>

/** The library returns undefined for an empty line. That is an answer, unlike a cancelled prompt. */
const typed = (answer: string | symbol | undefined): string | undefined =>
  isCancel(answer) ? undefined : String(answer ?? '')
