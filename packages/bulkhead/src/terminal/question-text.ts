import { styleText } from 'node:util'
import { visibleText, type InteractionRequest } from '@bulkhead/contract'
import { rowsOf, type Screen } from './rows.ts'

/**
 * Everything a person must see before answering, in full and printed once: a prompt that repaints itself would push what is
 * long off the screen. What a stranger wrote is quoted row by row, so that none of it can pass for ours.
 */
export function questionText(request: Exclude<InteractionRequest, { kind: 'Approve' }>, source: string, screen: Screen): string {
  const quoted = (text: string) => rowsOf(text, screen, '  | ', '  : ')
  return ['', ...lines(request, styleText('bold', visibleText(source)), quoted), ''].join('\n')
}

function lines(
  request: Exclude<InteractionRequest, { kind: 'Approve' }>, source: string, quoted: (text: string) => readonly string[],
): readonly string[] {
  switch (request.kind) {
    case 'Ask':
    case 'Confirm':
    case 'Select':
    case 'Auth.Password':
      return [`${source} asks:`, ...quoted(request.prompt)]
    case 'Auth.DeviceCode':
      return [`${source} wants you to sign in. Open`, ...quoted(request.url), 'and enter', ...quoted(request.code)]
    case 'trustProject':
      return ['The project in', ...quoted(request.path), ...quoted(request.summary)]
    case 'grantStageTool':
      return ['The stage', ...quoted(request.stage), 'wants to use', ...quoted(request.tool)]
  }
}
