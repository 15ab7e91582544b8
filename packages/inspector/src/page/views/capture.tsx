import { useState } from 'preact/hooks'
import type { CaptureChange, CaptureState } from '../../protocol.ts'
import { about, post } from '../model/api.ts'
import { capture } from '../model/call-list.ts'

/** Whether arguments and results are kept for this page. Off clears them. */
export function CaptureSwitch() {
  const [fault, setFault] = useState<string>()
  const state = capture.value
  if (state === undefined) return null
  const change = (on: boolean): void => {
    post<CaptureState>('capture', { on } satisfies CaptureChange).then(
      (next) => {
        capture.value = next
      },
      (error: Error) => setFault(error.message),
    )
  }
  return (
    <label
      class="row tight"
      title={`The last ${state.limit} calls of each process, redacted and cut: those of the inspector's own in memory, those of others in the store. Off clears them.`}
    >
      {fault && <span class="bad">{fault}</span>}
      Capture arguments and results{state.on && ` (${state.kept} of ${state.limit})`}
      <input
        type="checkbox"
        role="switch"
        class="switch"
        checked={state.on}
        disabled={about.value?.decide !== true}
        onChange={(event) => change(event.currentTarget.checked)}
      />
    </label>
  )
}
