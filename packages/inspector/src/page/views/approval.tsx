import { useState } from 'preact/hooks'
import type { JsonObject } from '@bulkhead/kit/json'
import { visibleJson } from '@bulkhead/kit/text'
import type { WaitingApproval } from '../../protocol.ts'
import { shown } from '../model/words.ts'
import { Code, Diff, Facts, Lines } from '../parts/texts.tsx'
import { ApprovalAnswers } from './answers.tsx'

/** Everything that an approval of this call covers, and the answers. */
export function ApprovalBody({ item }: { item: WaitingApproval }) {
  const [edited, setEdited] = useState<string>()
  const parsed = edited === undefined ? undefined : parsedObject(edited)
  const isBad = edited !== undefined && parsed === undefined
  const hasOwnView = item.command !== undefined || item.diff !== undefined
  return (
    <>
      <div class="body">
        {item.command !== undefined && <Code text={item.command} label="Command" isCommand />}
        {item.diff !== undefined && <Diff text={item.diff} />}
        {!hasOwnView && edited === undefined && <Code text={item.argumentsText} label="Arguments" />}
        <div class="why">
          <Reasons title="Why you are asked" lines={item.reasons} />
          <Reasons title="This call touches" lines={item.touches} />
          <Reasons title="Covers any value of" lines={item.leavesOut} />
        </div>
        {item.notRecorded !== undefined && <p class="person">Undo could not put it back: {shown(item.notRecorded)}</p>}
        <details>
          <summary>Arguments, and what the tool may touch</summary>
          <div class="stack">
            {hasOwnView && edited === undefined && <Code text={item.argumentsText} label="Arguments" />}
            <Facts
              of={[
                ['Offered by', shown(item.origin)],
                ['Acts as', item.mode],
                ['May touch', item.mayTouch.length > 0 && <Lines of={item.mayTouch} />],
              ]}
            />
          </div>
        </details>
        {item.arguments !== undefined
          && !item.unanswerable
          && (edited === undefined ? (
            <div>
              <button
                class="plain flush"
                onClick={() => setEdited(visibleJson(JSON.stringify(item.arguments, undefined, 2)))}
              >
                Edit the arguments
              </button>
            </div>
          ) : (
            <div class="stack">
              <label class="field">
                Arguments. They are checked and judged again.
                <textarea
                  class="mono"
                  rows={Math.min(16, edited.split('\n').length + 1)}
                  spellcheck={false}
                  aria-invalid={isBad}
                  value={edited}
                  onInput={(event) => setEdited(event.currentTarget.value)}
                />
              </label>
              <div class="row">
                <button class="plain" onClick={() => setEdited(undefined)}>
                  Undo the edit
                </button>
                {isBad && <span class="bad">This is not a JSON object.</span>}
              </div>
            </div>
          ))}
      </div>
      {item.unanswerable !== undefined ? (
        <p class="answers quiet">{shown(item.unanswerable)}</p>
      ) : (
        <ApprovalAnswers item={item} edited={parsed} isHeld={isBad} />
      )}
    </>
  )
}

function Reasons({ title, lines }: { title: string; lines: readonly string[] }) {
  if (lines.length === 0) return null
  return (
    <section>
      <h3>{title}</h3>
      <Lines of={lines} />
    </section>
  )
}

function parsedObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
  } catch {
    return undefined
  }
}
