import { LIMIT_EXAMPLES, type ApprovalRequest } from '@bulkhead/contract'
import { ANSWER_SCRIPT } from '../passkeys/scripts.ts'
import { block, escaped, NOTE, page, shown } from '../plain/page.ts'
import { answerName } from './link-form.ts'
import type { LinkedQuestion } from './questions.ts'

/** The whole question. The least permissive answer comes first, and none is chosen. `fault`: why the last one did not count. */
export function questionPage({ request, source, since }: LinkedQuestion, fault?: string): string {
  const asked = new Date(since).toISOString()
  const note = fault === undefined ? '' : `<p role="alert"><strong>${shown(fault)}</strong></p>`
  const approval = 'approval' in request ? request.approval : undefined
  const title = approval ? `Allow ${approval.tool}?` : `${source} asks`
  const body = approval ? callParts(approval) : 'prompt' in request ? block(request.prompt) : ''
  const script = scriptOf(request)
  const passkey = script && `<p>A rule demands a passkey to allow the call: this browser asks for it.</p>${NOTE}<input type="hidden" name="passkey">`
  const form = `<form method="post">${fieldsOf(request)}${passkey ?? ''}<button>Send</button></form>`
  return page(title, `${note}<p>Asked at ${asked}.</p>${body}${form}`, script)
}

/** What the page of a question runs. */
export const scriptOf = (request: LinkedQuestion['request']): string | undefined =>
  'approval' in request && request.approval.passkey ? ANSWER_SCRIPT : undefined

function callParts(approval: ApprovalRequest): string {
  const { origin, calledBy = [], principal, touches, mayTouch, reasons, approvalKey, argumentsText, diff } = approval
  const rows: readonly (readonly [string, readonly string[]])[] = [
    ['From', [origin]], ['For', principal ? [principal.id] : []], ['Called by', calledBy], ['Would', touches],
    ['May', mayTouch], ['Because', reasons], ['Key', [approvalKey]],
    ['Covers any value of', approval.leavesOut ?? []], ['Not recorded for undo', approval.notRecorded === undefined ? [] : [approval.notRecorded]],
  ]
  const list = rows.filter(([, lines]) => lines.length > 0)
    .map(([label, lines]) => `<dt>${label}</dt>${lines.map((line) => `<dd>${shown(line)}</dd>`).join('')}`)
  return `<dl>${list.join('')}</dl>${diff === undefined ? '' : `<h2>Diff</h2>${block(diff)}`}<h2>Arguments</h2>${block(argumentsText)}`
}

const radio = (value: string, words: string): string =>
  `<label><input type="radio" name="answer" value="${escaped(value)}" required> ${shown(words)}</label>`
const line = (name: string, words: string): string =>
  `<label>${shown(words)}<input type="text" name="${name}" autocomplete="off"></label>`

function fieldsOf(request: LinkedQuestion['request']): string {
  const no = `${radio('reject', 'No')}${line('reason', 'If no: why, for the model')}`
  switch (request.kind) {
    case 'Approve': {
      const { answers } = request.approval
      const keys = [...new Set(answers.flatMap(({ narrower = [] }) => narrower))]
      const lasting = answers.some(({ decision }) => decision !== 'once')
      return `<fieldset><legend>Your answer</legend>${no}${answers.map((one) => radio(answerName(one), `Allow ${one.words}`)).join('')}</fieldset>`
        + (lasting ? line('limit', `For more than this call: until when, or how often (${LIMIT_EXAMPLES})`) : '')
        + (keys.length > 0 ? line('key', `For the workspace: only this key (${keys.join(', ')})`) : '')
        + '<label>For this call: other arguments, as JSON<textarea name="arguments" rows="4"></textarea></label>'
    }
    case 'grantStageTool':
    case 'Confirm':
      return `<fieldset><legend>Your answer</legend>${radio('no', 'No')}${radio('yes', 'Yes')}</fieldset>`
    case 'Select':
      return request.options.map(({ label, description }, index) =>
        `<label><input type="${request.multiple ? 'checkbox' : 'radio'}" name="option" value="${index}"> ${shown(label)}`
        + `${description === undefined ? '' : ` (${shown(description)})`}</label>`).join('')
    default:
      return '<label>Your answer<textarea name="text" rows="4"></textarea></label>'
  }
}
