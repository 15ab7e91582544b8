import { defineExtension, ToolError } from '@bulkhead/contract'

export default defineExtension({
  tools: {
    plan_voyage: {
      async execute({ from, to, knots }, runtime) {
        runtime.progress(`looking up ${from} to ${to}`)
        const { routes } = JSON.parse(await runtime.fs.readText('charts.json'))
        const route = routes.find((one) => [from, to].every((port) => [one.from, one.to].includes(port)))
        if (!route) throw new ToolError('NotFound', `The charts have no route from ${from} to ${to}.`)
        return { from, to, miles: route.distance, hours: Math.round((route.distance / knots) * 10) / 10 }
      },
    },
  },
})
