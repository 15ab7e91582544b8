import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { HealthView, HostHealth, ProcessHealth, ServerHealth, WallItem } from '../../protocol.ts'
import { now } from '../model/clock.ts'
import { listen, want } from '../model/events.ts'
import { age, bytes, clock, duration, plural, shown } from '../model/words.ts'
import { Chart } from '../parts/chart.tsx'
import { Empty, Lines } from '../parts/texts.tsx'
import { AuditPanel } from './audit.tsx'
import { Frames } from './frames.tsx'

const health = signal<HealthView | undefined>(undefined)

/** What runs, what confines it, how fast it is, and whether the audit holds. */
export function HealthPage() {
  useEffect(() => {
    const stops = [
      listen({
        health: ({ view }) => {
          health.value = view
        },
      }),
      want('health'),
    ]
    return () => {
      for (const stop of stops) stop()
    }
  }, [])
  const view = health.value
  if (view === undefined) return <Empty title="Reading…" />
  return (
    <div class="wide views-grid">
      {view.frozen && (
        <p class="fault">
          Frozen since {clock(view.frozen.since)} by {shown(view.frozen.by)}
          {view.frozen.reason && `: ${shown(view.frozen.reason)}`}. No call starts.
        </p>
      )}
      {view.problems.length > 0 && (
        <div class="fault">
          <Lines of={view.problems} />
        </div>
      )}
      <Speed view={view} />
      <Hosts of={view.hosts} />
      <Processes of={view.processes} />
      <Servers of={view.servers} />
      <div class="views-grid two">
        <Walls line={view.wallLine} of={view.walls} />
        <AuditPanel of={view.audit} />
      </div>
      {view.servers.some(({ frames }) => frames) && (
        <Frames servers={view.servers.filter(({ frames }) => frames).map(({ name }) => name)} />
      )}
    </div>
  )
}

function Speed({ view: { series } }: { view: HealthView }) {
  const { calls, failed, p50Ms, p95Ms, pointMs, from } = series
  const perMinute = (points: readonly number[]): readonly number[] => points.map((count) => (count * 60_000) / pointMs)
  const all = calls.reduce((sum, count) => sum + count, 0)
  const bad = failed.reduce((sum, count) => sum + count, 0)
  const last = p50Ms.findLast((value) => value !== null)
  return (
    <div class="views-grid two">
      <Chart
        title="Calls per minute"
        from={from}
        pointMs={pointMs}
        summary={`${plural(all, 'call')}, ${bad} failed`}
        unit={(value) => value.toFixed(value < 10 ? 1 : 0)}
        bars={[
          { name: 'calls', points: perMinute(calls) },
          { name: 'failed', points: perMinute(failed) },
        ]}
      />
      <Chart
        title="Time of a call"
        from={from}
        pointMs={pointMs}
        summary={
          last === undefined || last === null ? 'no call ended' : `median ${duration(last)}, without waiting for people`
        }
        unit={duration}
        lines={[
          { name: 'median', points: p50Ms },
          { name: '95 of 100', points: p95Ms, isHigh: true },
        ]}
      />
    </div>
  )
}

const Use = ({ memoryBytes, cpuShare }: { memoryBytes?: number | undefined; cpuShare?: number | undefined }) => (
  <td class="number" data-name="Uses">
    {[
      memoryBytes === undefined ? '' : bytes(memoryBytes),
      cpuShare === undefined ? '' : `${Math.round(cpuShare * 100)} %`,
    ]
      .filter(Boolean)
      .join(' · ') || '–'}
  </td>
)

const StateBadge = ({ state, fault }: { state: string; fault?: string | undefined }) => {
  const kind =
    fault !== undefined || ['gone', 'failed', 'unavailable'].includes(state)
      ? 'bad'
      : ['live', 'active', 'connected', 'idle', 'busy'].includes(state)
        ? 'good'
        : ''
  return <span class={`badge ${kind}`}>{shown(state)}</span>
}

const Hosts = ({ of }: { of: readonly HostHealth[] }) => (
  <section class="panel">
    <header>
      <h2>Hosts</h2>
    </header>
    <table class="folds">
      <thead>
        <tr>
          <th>Host</th>
          <th>State</th>
          <th>Does</th>
          <th class="number">Memory, CPU</th>
        </tr>
      </thead>
      <tbody>
        {of.map((host) => (
          <tr>
            <td>
              <b>{shown(host.machine)}</b> {host.pid} <span class="quiet mono">{shown(host.workspace)}</span>
              {host.here && <span class="quiet small"> (this inspector)</span>}
              {host.walls && <div class="small quiet">walls: {shown(host.walls.join(', ')) || 'none'}</div>}
              {host.rulesDiffer && (
                <div class="small person">Its rules differ from those of another host of this folder.</div>
              )}
            </td>
            <td>
              <StateBadge state={host.state} />{' '}
              <span class="quiet small">
                {host.state === 'live' ? age(now.value - host.since) : `silent for ${age(host.silentMs)}`}
              </span>
            </td>
            <td>
              {plural(host.sessions, 'session')}, {plural(host.calls, 'call')}
              {host.questions > 0 && <span class="person">, {plural(host.questions, 'question')}</span>}
              {(host.restarts ?? 0) > 0 && <span class="person">, {plural(host.restarts!, 'restart')}</span>}
              {host.lagMs !== undefined && host.lagMs > 50 && (
                <span class="person">, busy for {duration(host.lagMs)}</span>
              )}
            </td>
            <Use {...host} />
          </tr>
        ))}
      </tbody>
    </table>
  </section>
)

/** What no call has needed yet is one line. */
function Processes({ of }: { of: readonly ProcessHealth[] }) {
  const started = of.filter(
    ({ state, fault, restarts }) => state !== 'validated' || fault !== undefined || restarts > 0,
  )
  const resting = of.length - started.length
  if (of.length === 0) return null
  return (
    <section class="panel">
      <header>
        <h2>Compartments</h2>
        {resting > 0 && <span class="quiet">{plural(resting, 'more extension')} that no call has needed yet</span>}
      </header>
      {started.length > 0 && (
        <table class="folds">
          <thead>
            <tr>
              <th>Extension</th>
              <th>State</th>
              <th>Walls</th>
              <th class="number">Memory, CPU</th>
            </tr>
          </thead>
          <tbody>
            {started.map((one) => (
              <Process one={one} />
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}

const Process = ({ one }: { one: ProcessHealth }) => (
  <tr>
    <td>
      <b>{shown(one.extension)}</b>{' '}
      <span class="quiet">
        {shown(one.version)} {one.layer}, {one.placement}
        {one.pid && ` ${one.pid}`}
      </span>
    </td>
    <td>
      <StateBadge state={one.state} fault={one.fault} /> {one.calls > 0 && plural(one.calls, 'call')}
      {one.restarts > 0 && <span class="person"> {plural(one.restarts, 'restart')}</span>}
      {one.fault && <div class="small bad">{shown(one.fault)}</div>}
    </td>
    <td class="small">{shown(one.walls.join(', ')) || '–'}</td>
    <Use {...one} />
  </tr>
)

function Servers({ of }: { of: readonly ServerHealth[] }) {
  if (of.length === 0) return null
  return (
    <section class="panel">
      <header>
        <h2>Servers</h2>
      </header>
      <table class="folds">
        <thead>
          <tr>
            <th>Server</th>
            <th>State</th>
            <th>Walls</th>
            <th class="number">Memory, CPU</th>
          </tr>
        </thead>
        <tbody>
          {of.map((one) => (
            <tr>
              <td>
                <b>{shown(one.name)}</b> <span class="quiet mono">{shown(one.address)}</span>
                {one.pid && <span class="quiet"> process {one.pid}</span>}
              </td>
              <td>
                <StateBadge state={one.state} fault={one.fault} />
                {one.restarts > 0 && <span class="person"> {plural(one.restarts, 'restart')}</span>}
                {one.fault && <div class="small bad">{shown(one.fault)}</div>}
              </td>
              <td class="small">{shown(one.walls.join(', ')) || '–'}</td>
              <Use {...one} />
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

const Walls = ({ line, of }: { line: string; of: readonly WallItem[] }) => (
  <section class="panel">
    <header>
      <h2>Walls</h2>
    </header>
    <div class="body stack">
      <p>{shown(line)}</p>
      <ul class="story">
        {of.map(({ name, around, stands, reason, cure }) => (
          <li>
            <span class={stands ? 'stands' : 'bad'}>{stands ? 'stands' : 'missing'}</span> <b>{shown(name)}</b>{' '}
            <span class="quiet">around {shown(around)}</span>
            {!stands && (
              <div class="small">
                {reason && shown(reason)} {shown(cure)}
              </div>
            )}
          </li>
        ))}
      </ul>
    </div>
  </section>
)
