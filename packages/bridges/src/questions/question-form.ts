import {
  LIMIT_EXAMPLES, readAnswerLimit, type ApprovalRequest, type InteractionEnvelope, type InteractionOption,
  type InteractionResponse, type OfferedAnswer,
} from '@bulkhead/contract'
import { readFormValues, type FormSchema } from '@bulkhead/kit/form'
import { isJsonObject, parseJson, type Json, type JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import type { ElicitRequestFormParams } from '@modelcontextprotocol/server'

/** A question as a form, with a function that reads the reply. */
export interface QuestionForm {
  readonly message: string
  readonly requestedSchema: ElicitRequestFormParams['requestedSchema']
  /** The name that a tool gave the question. */
  readonly name?: string
  /** Returns undefined for an invalid answer. */
  read(content: JsonObject): Json | undefined
}

/** Returns undefined for passwords, which the protocol forbids in forms, and for trust, which is decided earlier. */
export function questionForm({ request, source }: InteractionEnvelope): QuestionForm | undefined {
  const asks = (prompt: string) => `${visibleText(source)} asks:\n${quoted(prompt)}`
  switch (request.kind) {
    case 'Approve':
      return approvalForm(request.approval)
    case 'grantStageTool': {
      const { approval } = request
      const stage = `The stage ${visibleText(request.stage)} does not list this tool.`
      const message = `${stage}\n${approvalMessage(approval)}`
      return approval.passkey ? refusal(message) : yesOrNo(message, 'Allow this call')
    }
    case 'Confirm':
      return yesOrNo(asks(request.prompt), 'Yes')
    case 'Ask':
      return text(asks(request.prompt))
    case 'Select':
      return request.multiple
        ? several(asks(request.prompt), request.options)
        : one(asks(request.prompt), request.options)
    case 'Form':
      return {
        message: asks(request.prompt), requestedSchema: visibleForm(request.schema),
        ...(request.name === undefined ? {} : { name: request.name }),
        read: (content) => readFormValues(request.schema, content),
      }
    case 'Auth.DeviceCode':
      return signIn(
        `${visibleText(source)} wants you to sign in. Open\n${quoted(request.url)}\nand enter\n${quoted(request.code)}`,
      )
    case 'Auth.Password':
    case 'trustProject':
      return undefined
  }
}

const DECLINED = { status: 'rejected', reason: 'the person declined' } as const
const DISMISSED = { status: 'rejected', reason: 'the question was dismissed' } as const
const NO_ANSWER = { status: 'rejected', reason: 'the client sent an invalid answer' } as const

/** Reads a reply. Only an accepted, valid form is an answer. */
export function readReply(form: QuestionForm, reply: unknown): InteractionResponse {
  const { action, content } = isJsonObject(reply) ? reply : {}
  if (action === 'decline') return DECLINED
  if (action === 'cancel') return DISMISSED
  if (action !== 'accept' || !isJsonObject(content)) return NO_ANSWER
  const value = form.read(content)
  return value === undefined ? NO_ANSWER : { status: 'accepted', value }
}

const MAX_REASON_CHARS = 2_000

/** The description explains the values, because not every client shows titles. A client has no passkey to allow with. */
function approvalForm(approval: ApprovalRequest): QuestionForm {
  const offered = approval.passkey ? [] : approval.answers
  const answers = new Map(offered.map((answer) => [valueOf(answer), answer]))
  const keys = [...new Set(offered.flatMap(({ narrower = [] }) => narrower))]
  const described = [...answers].map(([value, { words }]) => `${value}: ${visibleText(words)}.`)
  return {
    message: approvalMessage(approval),
    requestedSchema: {
      type: 'object',
      properties: {
        decision: {
          type: 'string', title: 'Run it?', enum: [...answers.keys(), 'later', 'reject'], default: 'reject',
          description: [...described, 'later: not now; this is no denial.', 'reject: no.'].join(' '),
        },
        ...(isLasting(offered) && {
          limit: {
            type: 'string' as const, title: 'For how long', maxLength: MAX_LIMIT_CHARS,
            description: `For more than this call: when it ends, or how many calls it allows, such as ${LIMIT_EXAMPLES}.`,
          },
        }),
        ...(keys.length > 0 && {
          key: { type: 'string' as const, title: 'Narrower', enum: keys, description: 'For the workspace: only this key.' },
        }),
        ...(offered.length > 0 && {
          arguments: {
            type: 'string' as const, title: 'Other arguments', maxLength: MAX_ARGUMENT_CHARS,
            description: 'JSON. With "once": the call runs with these arguments instead, if they are allowed.',
          },
        }),
        reason: {
          type: 'string', title: 'Why', description: 'If you reject: the reason for the model.',
          maxLength: MAX_REASON_CHARS,
        },
      },
      required: ['decision'],
    },
    read({ decision, reason, limit, key, arguments: edited }) {
      const answer = typeof decision === 'string' ? answers.get(decision) : undefined
      if (answer === undefined && decision !== 'reject' && decision !== 'later') return undefined
      const changes = answer && changesOf({ limit, key, edited })
      if (answer && !changes) return undefined
      const why = typeof reason === 'string' ? reason.trim().slice(0, MAX_REASON_CHARS) : ''
      return {
        ...(answer ? { decision: answer.decision, covers: answer.covers, ...changes } : { decision: decision as string }),
        ...(why === '' ? {} : { reason: why }),
      }
    },
  }
}

const MAX_LIMIT_CHARS = 40
const MAX_ARGUMENT_CHARS = 100_000

const isLasting = (answers: readonly OfferedAnswer[]): boolean => answers.some(({ decision }) => decision !== 'once')

/** The rest of an answer that allows. undefined if a part cannot be read: it must not count without it. */
function changesOf(given: { readonly [name in 'limit' | 'key' | 'edited']: Json | undefined }): JsonObject | undefined {
  const [limit, key, edited] = [given.limit, given.key, given.edited].map((text) => typeof text === 'string' ? text.trim() : '')
  const read = limit === '' ? {} : readAnswerLimit(limit!, Date.now())
  const parsed = edited === '' ? undefined : parseJson(edited!)
  if (!read || (parsed && !(parsed.ok && isJsonObject(parsed.value)))) return undefined
  return { ...read, ...(key !== '' && { key: key! }), ...(parsed?.ok && { arguments: parsed.value }) }
}

/** `session` is the least for the session, `session:folder` covers more. */
const valueOf = ({ decision, covers }: OfferedAnswer): string =>
  covers === 'call' || covers === 'key' ? decision : `${decision}:${covers}`

const schemaOf = (answer: QuestionForm['requestedSchema']['properties'][string]): QuestionForm['requestedSchema'] =>
  ({ type: 'object', properties: { answer }, required: ['answer'] })

const text = (message: string): QuestionForm => ({
  message,
  requestedSchema: schemaOf({ type: 'string', title: 'Your answer' }),
  read: ({ answer }) => typeof answer === 'string' ? answer : undefined,
})

const yesOrNo = (message: string, title: string): QuestionForm => ({
  message,
  requestedSchema: schemaOf({ type: 'boolean', title, default: false }),
  read: ({ answer }) => typeof answer === 'boolean' ? answer : undefined,
})

/** Only a refusal is an answer. */
const refusal = (message: string): QuestionForm =>
  ({ ...yesOrNo(message, 'Refuse it'), read: ({ answer }) => answer === true ? false : undefined })

/** `false` is not an answer. */
const signIn = (message: string): QuestionForm => ({
  ...yesOrNo(message, 'I have signed in'),
  read: ({ answer }) => answer === true ? null : undefined,
})

function one(message: string, options: readonly InteractionOption[]): QuestionForm {
  const labels = labelsOf(options)
  return {
    message: `${message}\n${described(options, labels)}`.trimEnd(),
    requestedSchema: schemaOf({ type: 'string', title: 'Which one?', enum: [...labels] }),
    read: ({ answer }) => typeof answer === 'string' ? options[labels.indexOf(answer)]?.label : undefined,
  }
}

/** One boolean per option, because older versions of the protocol have no lists. */
function several(message: string, options: readonly InteractionOption[]): QuestionForm {
  const labels = labelsOf(options)
  const names = options.map((_, index) => `option_${index + 1}`)
  const properties = Object.fromEntries(
    names.map((name, index) => [name, { type: 'boolean' as const, title: labels[index]!, default: false }]),
  )
  return {
    message: `${message}\n${described(options, labels)}`.trimEnd(),
    requestedSchema: { type: 'object', properties },
    read: (content) => options.flatMap(({ label }, index) => content[names[index]!] === true ? [label] : []),
  }
}

/** The displayed labels. Identical labels get a number. */
function labelsOf(options: readonly InteractionOption[]): readonly string[] {
  const labels = options.map(({ label }) => visibleText(label))
  return new Set(labels).size === labels.length ? labels : labels.map((label, index) => `${index + 1}. ${label}`)
}

const described = (options: readonly InteractionOption[], labels: readonly string[]): string =>
  options.flatMap(({ description }, index) => description ? [quoted(`${labels[index]!}: ${description}`)] : [])
    .join('\n')

const SHOWN: ReadonlySet<string> = new Set(['title', 'description', 'enumNames'])

/** Makes invisible characters of the labels visible. Values stay as they are. */
function visibleForm(schema: FormSchema): QuestionForm['requestedSchema'] {
  const visible = (key: string, value: unknown): unknown => {
    if (!SHOWN.has(key)) return value
    return Array.isArray(value) ? value.map((each) => visibleText(String(each))) : visibleText(String(value))
  }
  const properties = Object.entries(schema.properties)
    .map(([name, field]) => [name, JSON.parse(JSON.stringify(field, visible)) as unknown])
  return { ...schema, properties: Object.fromEntries(properties) } as QuestionForm['requestedSchema']
}

/** The full text of an approval. Nothing is truncated, and untrusted text never starts a row. */
export function approvalMessage(approval: ApprovalRequest): string {
  const { tool, origin, calledBy = [], touches, mayTouch, reasons, argumentsText, diff } = approval
  const { approvalKey, keyByTool, leavesOut = [], answers } = approval
  const undo = approval.notRecorded === undefined ? [] : [`not recorded: ${approval.notRecorded}`]
  const [effect, ...others] = touches
  const namesEffect = effect !== undefined && others.length === 0
  const labelled = (label: string, lines: readonly string[]) => lines.map((line) => `${label}: ${visibleText(line)}`)
  return [
    `Allow \`${tool}\` to ${namesEffect ? visibleText(effect) : 'run'}?`,
    `from: ${visibleText(origin)}`,
    ...labelled('for', approval.principal ? [approval.principal.id] : []),
    ...labelled('called by', calledBy),
    ...labelled('would', namesEffect ? [] : touches),
    ...labelled('may', mayTouch),
    ...labelled('undo', undo),
    ...labelled('because', reasons),
    ...labelled('key', [approvalKey]),
    ...(keyByTool ? [KEY_BY_TOOL] : []),
    ...(leavesOut.length > 0 ? [`covers any value of: ${visibleText(leavesOut.join(', '))}`] : []),
    ...(approval.passkey ? [BY_PASSKEY] : labelled('can be allowed', answers.map(({ words }) => words))),
    ...(diff === undefined ? [] : ['diff:', quoted(diff)]),
    'arguments:',
    quoted(argumentsText),
  ].join('\n')
}

/** The same for a client that can only allow this one call. */
export const questionText = ({ answers, ...approval }: ApprovalRequest): string =>
  approvalMessage({ ...approval, answers: answers.filter(({ decision }) => decision === 'once') })

const BY_PASSKEY =
  'A rule demands a passkey to allow it: the page of "bulkhead inspect --decide" asks for one. Here it can be refused.'
const KEY_BY_TOOL =
  'The tool chose this key, and may use the same key for every call. The approval lasts for this session at most.'

/** Each row starts with a mark, so that untrusted text cannot imitate the prompt. */
const quoted = (message: string): string =>
  visibleText(message, { keepLines: true }).split('\n').map((row) => `| ${row}`).join('\n')
