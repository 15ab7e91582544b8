import { styleText } from 'node:util'
import type { InteractionRequest } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import { approvalText } from './approval-text.ts'
import { rowsOf, type Screen } from './rows.ts'

/**
 * Everything a person must see before answering, in full and printed once: a prompt that repaints itself would push what is
 * long off the screen. What a stranger wrote is quoted row by row, so that none of it can pass for ours.
 */
export function questionText(request: Asked, source: string, screen: Screen): string {
  return ['', ...lines(request, source, screen), ''].join('\n')
}

type Asked = Exclude<InteractionRequest, { kind: 'Approve' }>

function lines(request: Asked, source: string, screen: Screen): readonly string[] {
  const quoted = (text: string) => rowsOf(text, screen, '  | ', '  : ')
  const said = (what: string) => rowsOf(visibleText(`${source} ${what}`), screen, '', '  : ').map((row) => styleText('bold', row))
  switch (request.kind) {
    case 'Ask':
    case 'Confirm':
    case 'Select':
    case 'Auth.Password':
      return [...said('asks:'), ...quoted(request.prompt)]
    case 'Auth.DeviceCode':
      return [...said('wants you to sign in. Open'), ...quoted(request.url), 'and enter', ...quoted(request.code)]
    case 'trustProject':
      return ['The project in', ...quoted(request.path), ...quoted(request.summary)]
    case 'grantStageTool':
      return ['The work is at the stage', ...quoted(request.stage), 'which does not list this tool.', approvalText(request.approval, screen).whole]
  }
}
