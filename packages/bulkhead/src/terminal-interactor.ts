import { createInterface } from 'node:readline/promises'
import { styleText } from 'node:util'
import { visibleText, type ApprovalAnswer, type ApprovalRequest, type InteractionRequest, type InteractionResponse, type Interactor } from '@bulkhead/contract'

/** Asks on standard error and reads standard input, so that standard output stays the answer. */
export function createTerminalInteractor(streams: { readonly input: NodeJS.ReadableStream; readonly output: NodeJS.WritableStream } = { input: process.stdin, output: process.stderr }): Interactor {
  return {
    async interact({ request, source }, signal): Promise<InteractionResponse> {
      const lines = createInterface({ input: streams.input, output: streams.output })
      const ask = (prompt: string) => lines.question(prompt, { signal })
      try {
        return await answer(request, visibleText(source), ask)
      } catch {
        return { status: 'rejected', reason: 'the question was taken back or the terminal closed' }
      } finally {
        lines.close()
      }
    },
  }
}

type Ask = (prompt: string) => Promise<string>
const accepted = (value: InteractionAnswer): InteractionResponse => ({ status: 'accepted', value })
type InteractionAnswer = Extract<InteractionResponse, { status: 'accepted' }>['value']
const shown = (text: string) => visibleText(text, { keepLines: true })
const isYes = (text: string) => /^y(?:es)?$/i.test(text.trim())

async function answer(request: InteractionRequest, source: string, ask: Ask): Promise<InteractionResponse> {
  switch (request.kind) {
    case 'Approve':
      return accepted({ ...await approve(request.approval, ask) })
    case 'Ask':
    case 'Auth.Password':
      return accepted(await ask(`${source} asks: ${shown(request.prompt)}\n> `))
    case 'Confirm':
      return accepted(isYes(await ask(`${source} asks: ${shown(request.prompt)} [y/N] `)))
    case 'Select':
      return select(request, source, ask)
    case 'Auth.DeviceCode':
      return accepted(await ask(`${source} asks you to open ${shown(request.url)} and enter ${styleText('bold', shown(request.code))}. Press Enter when done. `))
    case 'trustProject':
      return accepted(trustAnswer(await ask(`${shown(request.path)}\n${shown(request.summary)}\n[t] trust it until it changes  [y] this once  [d] never  [n] not now: `)))
    case 'grantStageTool':
      return accepted(isYes(await ask(`Let the stage ${shown(request.stage)} use ${shown(request.tool)}? [y/N] `)))
  }
}

function trustAnswer(line: string): 'trusted' | 'once' | 'declined' | false {
  if (/^t(?:rust)?$/i.test(line.trim())) return 'trusted'
  if (/^d(?:ecline)?$/i.test(line.trim())) return 'declined'
  return isYes(line) ? 'once' : false
}

async function approve(approval: ApprovalRequest, ask: Ask): Promise<ApprovalAnswer> {
  const text = [
    '',
    `${styleText('bold', shown(approval.tool))} of ${shown(approval.origin)} wants to run`,
    `  arguments: ${shown(approval.argumentsText)}`,
    ...approval.touches.map((line) => `  touches:   ${shown(line)}`),
    ...approval.reasons.map((line) => `  asked for: ${shown(line)}`),
    `  key:       ${shown(approval.approvalKey)}`,
    '[y] once  [s] for this session  [n] no, or write why not: ',
  ].join('\n')
  const line = (await ask(text)).trim()
  if (/^y(?:es)?$/i.test(line)) return { decision: 'once' }
  if (/^s(?:ession)?$/i.test(line)) return { decision: 'session' }
  return /^no?$/i.test(line) || line === '' ? { decision: 'reject' } : { decision: 'reject', reason: line }
}

async function select(request: Extract<InteractionRequest, { kind: 'Select' }>, source: string, ask: Ask): Promise<InteractionResponse> {
  const options = request.options.map((option, index) => `  ${index + 1}. ${shown(option.label)}${option.description ? ` – ${shown(option.description)}` : ''}`)
  const line = await ask(`${source} asks: ${shown(request.prompt)}\n${options.join('\n')}\n${request.multiple ? 'Numbers, with commas: ' : 'Number: '}`)
  const chosen = line.split(',').map((part) => request.options[Number(part.trim()) - 1]?.label)
  const labels = chosen.filter((label) => label !== undefined)
  if (labels.length === 0 || labels.length !== chosen.length) return { status: 'rejected', reason: 'no such option' }
  return accepted(request.multiple ? labels : labels[0]!)
}
