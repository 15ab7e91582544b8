import type { CallState } from '../../protocol.ts'

/** 16 × 16, drawn with lines. */
const SHAPES: Readonly<Record<CallState, string>> = {
  queued: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  waiting: 'M8 4.5V8l2.5 1.5M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2',
  running: 'M8 2a6 6 0 1 1-6 6',
  succeeded: 'M3.5 8.5l3 3 6-7',
  failed: 'M4 4l8 8M12 4l-8 8',
  denied: 'M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2M3.8 3.8l8.4 8.4',
  cancelled: 'M4 8h8',
  unknown: 'M5.8 6a2.2 2.2 0 1 1 3.3 1.9c-.8.4-1.1.9-1.1 1.6M8 12.2h.01',
}

const STATE_WORDS: Readonly<Record<CallState, string>> = {
  queued: 'queued',
  waiting: 'waits for a person',
  running: 'running',
  succeeded: 'succeeded',
  failed: 'failed',
  denied: 'denied',
  cancelled: 'cancelled',
  unknown: 'end unknown',
}

export const StateMark = ({ state }: { state: CallState }) => (
  <svg
    class={`state ${state}${state === 'running' || state === 'waiting' ? ' pulse' : ''}`}
    viewBox="0 0 16 16"
    role="img"
    aria-label={STATE_WORDS[state]}
  >
    <path
      d={SHAPES[state]}
      fill="none"
      stroke="currentColor"
      stroke-width="1.8"
      stroke-linecap="round"
      stroke-linejoin="round"
    />
  </svg>
)

export const stateWords = (state: CallState): string => STATE_WORDS[state]

/** A hull with its bulkheads. */
export const Brand = () => (
  <svg viewBox="0 0 32 32" aria-hidden="true">
    <path d="M4 5h24v13c0 6-5 10-12 12C9 28 4 24 4 18z" fill="#2f6f8f" />
    <path d="M16 5v25M4 16h24" stroke="#fff" stroke-width="2.5" />
  </svg>
)
