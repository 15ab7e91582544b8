import { styleText } from 'node:util'
import { visibleText, type ApprovalRequest, type InteractionRequest } from '@bulkhead/contract'

/**
 * Everything a person must see before answering, in full and printed once: a prompt that repaints itself would push what is
 * long off the screen. What a stranger wrote is quoted line by line, so that none of it can pass for ours.
 */
export function questionText(request: InteractionRequest, source: string): string {
  return ['', ...lines(request, visibleText(source)), ''].join('\n')
}

function lines(request: InteractionRequest, source: string): readonly string[] {
  switch (request.kind) {
    case 'Approve':
      return approvalLines(request.approval)
    case 'Ask':
    case 'Confirm':
    case 'Select':
    case 'Auth.Password':
      return [`${bold(source)} asks:`, ...quoted(request.prompt)]
    case 'Auth.DeviceCode':
      return [`${bold(source)} wants you to sign in. Open`, ...quoted(request.url), 'and enter', ...quoted(request.code)]
    case 'trustProject':
      return ['The project in', ...quoted(request.path), ...quoted(request.summary)]
    case 'grantStageTool':
      return ['The stage', ...quoted(request.stage), 'does not list this tool.', ...approvalLines(request.approval)]
  }
}

function approvalLines({ tool, origin, argumentsText, touches, reasons, approvalKey }: ApprovalRequest): readonly string[] {
  return [
    `${bold(visibleText(tool))} of ${visibleText(origin)} wants to run with`,
    ...quoted(argumentsText),
    ...touches.map((line) => `  touches:   ${visibleText(line)}`),
    ...reasons.map((line) => `  asked for: ${visibleText(line)}`),
    `  key:       ${visibleText(approvalKey)}`,
  ]
}

const bold = (text: string): string => styleText('bold', text)
const quoted = (text: string): readonly string[] =>
  visibleText(text, { keepLines: true }).split('\n').map((line) => `  | ${line}`)
