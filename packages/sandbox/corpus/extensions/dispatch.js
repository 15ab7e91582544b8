// The extension of the corpus: one tool that runs the attack with a given id.
export default {
  tools: {
    run: {
      async execute({ id, facts }, runtime) {
        const { default: attack } = await import(`./attack-${id}.js`)
        return attack(facts, runtime)
      },
    },
  },
}
