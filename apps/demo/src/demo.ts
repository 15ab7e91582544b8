import { join } from 'node:path'
import { createHost, type Interactor } from 'bulkhead'
import { runAgent } from './agent.ts'
import { differences } from './scenario.ts'
import { SCENARIOS } from './scenarios.ts'
import { scriptedModel } from './scripted-model.ts'
import type { Story } from './story.ts'

const HERE = join(import.meta.dirname, '..')

/** Plays every scenario against a real host. Resolves with the number of scenarios that failed. */
export async function playDemo(story: Story): Promise<number> {
  const host = await createHost({ workspace: join(HERE, 'workspace'), home: join(HERE, 'extensions') })
  const off = host.on((event) => {
    if (event.type === 'ToolInvocationProgress') story.progress(event.text)
  })
  let failed = 0
  try {
    for (const scenario of SCENARIOS) {
      story.title(scenario.title)
      const session = await host.openSession({ mode: 'ask', interactor: approvingPerson(story) })
      const faults = differences(scenario.expected, await runAgent(scriptedModel(scenario.script), session, story))
      await session.close()
      story.verdict(faults)
      if (faults.length > 0) failed++
    }
  } finally {
    off()
    await host.close()
  }
  return failed
}

/** Approves every request for the session, so that the output shows when approval is required. */
function approvingPerson(story: Story): Interactor {
  return {
    async interact({ request }) {
      if (request.kind !== 'Approve') return { status: 'rejected' }
      story.asked(request.approval, 'yes, for this session')
      return { status: 'accepted', value: { decision: 'session' } }
    },
  }
}
