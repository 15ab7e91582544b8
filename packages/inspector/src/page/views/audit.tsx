import type { AuditChainItem, AuditHealth } from '../../protocol.ts'
import { clock, shown } from '../model/words.ts'

const BADGES: Readonly<Record<AuditHealth['status'], readonly [kind: string, words: string]>> = {
  on: ['', 'not checked yet'],
  off: ['', 'off'],
  checked: ['good', 'checked'],
  lost: ['bad', 'records lost'],
  broken: ['bad', 'broken'],
}

/** Whether decisions are recorded, and how far the chains of the records were verified. */
export const AuditPanel = ({ of: { status, words, chains } }: { of: AuditHealth }) => (
  <section class="panel">
    <header>
      <h2>Audit</h2>
      <span class={`badge ${BADGES[status][0]}`}>{BADGES[status][1]}</span>
    </header>
    <div class="body stack">
      <p>{shown(words)}</p>
      <ul class="story">
        {chains.map((chain) => (
          <Chain of={chain} />
        ))}
      </ul>
    </div>
  </section>
)

const Chain = ({ of: { name, first, last, link, checked, broken } }: { of: AuditChainItem }) => (
  <li>
    {shown(name)}{' '}
    <span class="number">
      records {first} to {last}
    </span>
    {broken !== undefined ? (
      <span class="bad">
        , broken at {broken.position}: {shown(broken.reason)} ({clock(broken.at)})
      </span>
    ) : (
      <span class="quiet">
        {checked === undefined ? ', not checked yet' : `, checked up to ${checked.last} at ${clock(checked.at)}`}
      </span>
    )}
    <br />
    <code class="small quiet">{shown(link)}</code>
  </li>
)
