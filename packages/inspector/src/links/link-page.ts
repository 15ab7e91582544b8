import { hash } from 'node:crypto'
import { LIMIT_EXAMPLES, type ApprovalRequest } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import { answerName } from './link-form.ts'
import type { LinkedQuestion } from './questions.ts'

const STYLE = `:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}body{max-width:46rem;margin:1rem auto;padding:0 1rem}
pre{overflow:auto;padding:.5rem;border:1px solid;white-space:pre-wrap;overflow-wrap:anywhere}label,button{display:block;margin:.5rem 0}
input[type=text],textarea{width:100%;box-sizing:border-box}button{padding:.5rem 1.5rem;font:inherit}`

/** No script and nothing from elsewhere. The origin of the form is sent, and the address of the page is not. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store', 'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff', 'x-frame-options': 'DENY', 'x-robots-tag': 'noindex',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; `
    + `form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
}

const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (char) => `&#${char.codePointAt(0)};`)
const shown = (text: string): string => escaped(visibleText(text))
const block = (text: string): string => `<pre>${escaped(visibleText(text, { keepLines: true }))}</pre>`

const page = (title: string, body: string): string =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">`
  + `<title>${shown(title)}</title><style>${STYLE}</style><main><h1>${shown(title)}</h1>${body}</main></html>`

export const messagePage = (title: string, text: string): string => page(title, `<p>${shown(text)}</p>`)

/** The whole question. The least permissive answer comes first, and none is chosen. `fault`: why the last one did not count. */
export function questionPage({ request, source, since }: LinkedQuestion, fault?: string): string {
  const asked = new Date(since).toISOString()
  const note = fault === undefined ? '' : `<p role="alert"><strong>${shown(fault)}</strong></p>`
  const approval = 'approval' in request ? request.approval : undefined
  const title = approval ? `Allow ${approval.tool}?` : `${source} asks`
  const body = approval ? callParts(approval) : 'prompt' in request ? block(request.prompt) : ''
  return page(title, `${note}<p>Asked at ${asked}.</p>${body}<form method="post">${fieldsOf(request)}<button>Send</button></form>`)
}

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
