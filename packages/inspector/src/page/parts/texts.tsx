import type { ComponentChildren } from 'preact'
import type { RuleDraft } from '../../protocol.ts'
import { shown, shownLines } from '../model/words.ts'

/** A text of several lines, as it is. */
export function Code({ text, label, isCommand = false }: { text: string; label: string; isCommand?: boolean }) {
  return (
    <pre class={`code${isCommand ? ' command' : ''}`} tabIndex={0} role="region" aria-label={label}>
      {shownLines(text)}
    </pre>
  )
}

/** A unified diff. */
export function Diff({ text }: { text: string }) {
  return (
    <pre class="code diff" tabIndex={0} role="region" aria-label="Changes">
      {shownLines(text)
        .split('\n')
        .map((line) => (
          <span class={kindOf(line)}>{line || ' '}</span>
        ))}
    </pre>
  )
}

function kindOf(line: string): string {
  if (line.startsWith('@@') || line.startsWith('+++') || line.startsWith('---')) return 'place'
  if (line.startsWith('+')) return 'plus'
  return line.startsWith('-') ? 'minus' : ''
}

export const Lines = ({ of, class: name = '' }: { of: readonly string[]; class?: string }) => (
  <ul class={`lines ${name}`}>
    {of.map((line) => (
      <li>{shown(line)}</li>
    ))}
  </ul>
)

/** Facts by name. Without a value, the name is left out. */
export function Facts({ of }: { of: readonly (readonly [name: string, value: ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {of
        .filter(([, value]) => value !== undefined && value !== null && value !== '' && value !== false)
        .map(([name, value]) => (
          <>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </>
        ))}
    </dl>
  )
}

export const Fault = ({ children }: { children?: ComponentChildren }) =>
  children ? (
    <p class="fault" role="alert">
      {children}
    </p>
  ) : null

export const Empty = ({ title, children }: { title: string; children?: ComponentChildren }) => (
  <div class="empty">
    <h2>{title}</h2>
    {children}
  </div>
)

export const RuleText = ({ rule: { action, permission, pattern } }: { rule: RuleDraft }) => (
  <span class="rule-text">
    <span class={`action ${action}`}>{action}</span> {shown(permission)} <span class="quiet">{shown(pattern)}</span>
  </span>
)
