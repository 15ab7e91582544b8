export default {
  tools: {
    echo: { execute: (args) => args },
  },
}
